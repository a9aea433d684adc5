from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.noop import noop_page
from attention_atlas.workflow.job import job

with job(snakemake):
    noop_page(snakemake.input.noop, setting_of(snakemake.params.setting), snakemake.output.html)
