from attention_atlas.studies.clark2019.drawn_heads import figure1_weights
from attention_atlas.workflow.job import job

with job(snakemake):
    figure1_weights(
        list(snakemake.input.shards),
        snakemake.input.surface,
        snakemake.params.heads,
        snakemake.params.segment,
        snakemake.output.tsv,
    )
