from attention_atlas.studies.clark2019.drawn_heads import figure5_weights
from attention_atlas.workflow.job import job

with job(snakemake):
    figure5_weights(
        shard=snakemake.input.shard,
        examples_path=snakemake.input.examples,
        relations_path=snakemake.input.dependencies,
        heads=snakemake.params.heads,
        sentences=snakemake.params.sentences,
        out=snakemake.output.tsv,
        coreference=tuple(snakemake.input.coreference) or None,
        coreference_options=snakemake.params.coreference_options,
    )
