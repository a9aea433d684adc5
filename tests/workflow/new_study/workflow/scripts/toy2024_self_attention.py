from attention_atlas.studies.toy2024.self_attention import measure_self_attention
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_self_attention(
        shards=snakemake.input.shards,
        limit=snakemake.params.limit,
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        out=snakemake.output[0],
    )
