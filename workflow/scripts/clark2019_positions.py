from attention_atlas.smk import job
from attention_atlas.studies.clark2019.positions import positions
from attention_atlas.studies.setting import setting_of

with job(snakemake):
    positions(snakemake.input.surface, setting_of(snakemake.params.setting), snakemake.output.tsv, snakemake.output.html)
