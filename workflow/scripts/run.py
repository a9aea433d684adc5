from attention_atlas.workflow.job import job

with job(snakemake):
    from attention_atlas.workflow.run import run

    run(snakemake)
