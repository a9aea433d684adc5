from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.coreference import measure_coreference
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_coreference(
        shards=snakemake.input.shards,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        options=snakemake.params.options,
        vary_options=snakemake.params.vary_options,
        name_lists=snakemake.input.name_lists,
        resampling=Resampling(snakemake.params.folds, snakemake.params.resamples, snakemake.params.seed),
        out=snakemake.output.table,
        heads_out=snakemake.output.heads,
        options_out=snakemake.output.options,
        summary_out=snakemake.output.summary,
        claims_out=snakemake.output.claims,
    )
