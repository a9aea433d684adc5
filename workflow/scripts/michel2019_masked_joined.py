from attention_atlas.studies.michel2019.job_parts import join_parts
from attention_atlas.workflow.job import job

with job(snakemake):
    join_parts(
        parts=snakemake.input.answers,
        second_parts=snakemake.input.second_answers,
        out=snakemake.output.answers,
        second_out=snakemake.output.second_answers,
    )
