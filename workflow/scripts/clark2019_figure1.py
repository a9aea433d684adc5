from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.figure1 import figure1
from attention_atlas.workflow.job import job

with job(snakemake):
    pictures = {kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")}
    figure1(snakemake.input.weights, setting_of(snakemake.params.setting), pictures)
