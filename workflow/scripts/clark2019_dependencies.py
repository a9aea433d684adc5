from attention_atlas.methods.options import options_of
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.dependencies import measure_dependencies
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_dependencies(
        shards=snakemake.input.shards,
        example_files=snakemake.input.examples,
        card_path=snakemake.input.card,
        limit=snakemake.params.limit,
        options=options_of(snakemake.params.options),
        min_count=snakemake.params.min_count,
        resampling=Resampling(snakemake.params.folds, snakemake.params.resamples, snakemake.params.seed),
        heads_out=snakemake.output.heads,
        dependencies_out=snakemake.output.dependencies,
        options_out=snakemake.output.options,
        noop_out=snakemake.output.noop,
        summary_out=snakemake.output.summary,
    )
