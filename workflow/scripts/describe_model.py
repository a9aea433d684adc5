from attention_atlas.workflow.job import job

with job(snakemake, downloads=True):
    from attention_atlas.models.loading import describe

    describe(
        name=snakemake.wildcards.model,
        entry=snakemake.params.model,
        card_out=snakemake.output.card,
        tokenizer_out=snakemake.output.tokenizer,
    )
