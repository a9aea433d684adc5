from attention_atlas.studies.clark2019.head_distances import measure_head_distances
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_head_distances(
        shards=snakemake.input.shards,
        limit=snakemake.params.limit,
        smoothing=snakemake.params.smoothing,
        blocks=snakemake.params.blocks,
        threads=snakemake.threads,
        out=snakemake.output.distances,
        blocks_out=snakemake.output.blocks,
    )
