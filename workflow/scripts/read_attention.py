from attention_atlas.workflow.job import job

with job(snakemake):
    from attention_atlas.corpora.released_maps import store_maps
    from attention_atlas.models.card import read_card

    store_maps(
        raw=snakemake.input.raw,
        card=vars(read_card(snakemake.input.card)),
        examples_path=snakemake.input.examples,
        corpus=snakemake.wildcards.corpus,
        level=snakemake.params.level,
        out=snakemake.output.shard,
        description_out=snakemake.output.description,
    )
