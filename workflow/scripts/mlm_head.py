from attention_atlas.workflow.job import job

with job(snakemake):
    from attention_atlas.models.language_models import prepare_head

    prepare_head(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        settings=snakemake.params.settings,
        threads=snakemake.threads,
        out=snakemake.output.head,
        facts_out=snakemake.output.facts,
    )
