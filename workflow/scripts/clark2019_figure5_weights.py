from attention_atlas.studies.clark2019.drawn_heads import figure5_weights
from attention_atlas.workflow.job import job

with job(snakemake):
    figure5_weights(
        shards=list(snakemake.input.shards),
        example_files=list(snakemake.input.examples),
        relations_path=snakemake.input.dependencies,
        heads=snakemake.params.heads,
        sentences=snakemake.params.sentences,
        out=snakemake.output.tsv,
        coreference=tuple(snakemake.input.coreference) or None,
        coreference_options=snakemake.params.coreference_options,
    )
