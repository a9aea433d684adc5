from attention_atlas.studies.michel2019.job_parts import join_pruned
from attention_atlas.workflow.job import job

with job(snakemake):
    join_pruned(parts=snakemake.input, out=snakemake.output[0])
