from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.figure2 import figure2
from attention_atlas.workflow.job import job

with job(snakemake):
    pictures = {kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")}
    figure2(snakemake.input.surface, setting_of(snakemake.params.setting), snakemake.output.tsv, pictures)
