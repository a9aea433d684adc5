from attention_atlas.io.setting import setting_of
from attention_atlas.studies.kovaleva2019.figure3 import figure3
from attention_atlas.workflow.job import job

with job(snakemake):
    figure3(
        path=snakemake.input[0],
        direction=snakemake.params.direction,
        pairing=snakemake.params.pairing,
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
