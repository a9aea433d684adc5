from attention_atlas.workflow.job import job
from attention_atlas.workflow.run import run

with job(snakemake):
    run(snakemake)
