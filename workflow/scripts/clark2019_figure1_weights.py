from attention_atlas.smk import job
from attention_atlas.studies.clark2019.drawn_heads import figure1_weights

with job(snakemake):
    figure1_weights(snakemake.input.shard, snakemake.input.surface, snakemake.params.heads, snakemake.output.tsv)
