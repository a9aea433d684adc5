from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.figure4 import figure4
from attention_atlas.workflow.job import job

with job(snakemake):
    pictures = {kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")}
    figure4(
        snakemake.input.surface, snakemake.input.summary, setting_of(snakemake.params.setting), snakemake.output.tsv, pictures
    )
