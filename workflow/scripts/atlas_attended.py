from attention_atlas.atlas.attended import write_attended
from attention_atlas.workflow.job import job

with job(snakemake):
    write_attended(
        shards=snakemake.input.shards,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        count=snakemake.params.strongest_pairs,
        pairs_out=snakemake.output.pairs,
        kinds_out=snakemake.output.kinds,
    )
