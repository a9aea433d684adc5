from attention_atlas.io.setting import setting_of
from attention_atlas.studies.kovaleva2019.figure4 import figure4
from attention_atlas.workflow.job import job

with job(snakemake):
    figure4(
        path=snakemake.input[0],
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
