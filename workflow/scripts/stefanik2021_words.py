from attention_atlas.studies.stefanik2021.words import write_words
from attention_atlas.workflow.job import job

with job(snakemake):
    write_words(
        shards=snakemake.input.attention,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        diagonal=snakemake.params.diagonal,
        out=snakemake.output[0],
    )
