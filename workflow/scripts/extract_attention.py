from attention_atlas.workflow.job import job

with job(snakemake):
    from attention_atlas.models.extraction import extract_shard

    extract_shard(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        examples_path=snakemake.input.examples,
        corpus=snakemake.wildcards.corpus,
        level=snakemake.params.level,
        out=snakemake.output.shard,
        description_out=snakemake.output.description,
        threads=snakemake.threads,
    )
