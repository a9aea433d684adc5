from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.table1 import table1
from attention_atlas.workflow.job import job

with job(snakemake):
    table1(snakemake.input.relations, setting_of(snakemake.params.setting), snakemake.output.tsv, snakemake.output.html)
