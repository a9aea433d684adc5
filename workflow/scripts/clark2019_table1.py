from attention_atlas.smk import job
from attention_atlas.studies.clark2019.setting import setting_of
from attention_atlas.studies.clark2019.table1 import table1

with job(snakemake):
    table1(snakemake.input.relations, setting_of(snakemake.params.setting), snakemake.output.tsv, snakemake.output.html)
