from attention_atlas.workflow.job import job

with job(snakemake):
    from attention_atlas.corpora.examples import build_shard
    from attention_atlas.models.card import read_card

    build_shard(
        entry=snakemake.params.corpus,
        raw=snakemake.input.raw,
        tokenizer=snakemake.input.tokenizer,
        max_tokens=read_card(snakemake.input.card).max_tokens,
        start=snakemake.params.start,
        out=snakemake.output.examples,
        dropped_out=snakemake.output.dropped,
        companion=next(iter(snakemake.input.companion), None),
    )
