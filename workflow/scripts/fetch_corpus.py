from attention_atlas.corpora.sources import fetch
from attention_atlas.workflow.job import job

with job(snakemake):
    fetch(snakemake.params.source, snakemake.output[0], reader=snakemake.params.reader)
