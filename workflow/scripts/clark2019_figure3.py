from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.figure3 import figure3
from attention_atlas.workflow.job import job

with job(snakemake):
    pictures = {kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")}
    figure3(snakemake.input.table, setting_of(snakemake.params.setting), pictures)
