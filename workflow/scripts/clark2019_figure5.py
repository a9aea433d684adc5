from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.figure5 import figure5
from attention_atlas.workflow.job import job

with job(snakemake):
    pictures = {kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")}
    figure5(snakemake.input.weights, setting_of(snakemake.params.setting), snakemake.params.coreference, pictures)
