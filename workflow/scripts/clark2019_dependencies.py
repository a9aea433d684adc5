from attention_atlas.methods.options import options_of
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.dependencies import DependencyOutputs, measure_dependencies
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
        outputs=DependencyOutputs(
            heads=snakemake.output.heads,
            dependencies=snakemake.output.dependencies,
            head_relations=snakemake.output.head_relations,
            options=snakemake.output.options,
            noop=snakemake.output.noop,
            summary=snakemake.output.summary,
            claims=snakemake.output.claims,
        ),
    )
