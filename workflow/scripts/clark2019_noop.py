from attention_atlas.smk import job
from attention_atlas.studies.clark2019.noop import noop_page
from attention_atlas.studies.setting import setting_of

with job(snakemake):
    noop_page(snakemake.input.noop, setting_of(snakemake.params.setting), snakemake.output.html)
