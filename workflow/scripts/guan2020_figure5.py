from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.figure5 import figure5
from attention_atlas.workflow.job import job

with job(snakemake):
    figure5(
        path=snakemake.input.grid,
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
