from attention_atlas.corpora.sources import fetch
from attention_atlas.smk import job

with job(snakemake):
    fetch(snakemake.params.source, snakemake.output[0], reader=snakemake.params.reader)
