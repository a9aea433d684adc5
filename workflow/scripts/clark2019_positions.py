from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.positions import positions
from attention_atlas.workflow.job import job

with job(snakemake):
    positions(snakemake.input.surface, setting_of(snakemake.params.setting), snakemake.output.tsv, snakemake.output.html)
