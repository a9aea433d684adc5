from attention_atlas.smk import job
from attention_atlas.studies.clark2019.table1 import table1
from attention_atlas.studies.setting import setting_of

with job(snakemake):
    table1(snakemake.input.relations, setting_of(snakemake.params.setting), snakemake.output.tsv, snakemake.output.html)
