from attention_atlas.methods.options import options_of
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.surface import measure_surface
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_surface(
        shards=snakemake.input.shards,
        card_path=snakemake.input.card,
        limit=snakemake.params.limit,
        options=options_of(snakemake.params.options),
        resampling=Resampling(snakemake.params.folds, snakemake.params.resamples, snakemake.params.seed),
        out=snakemake.output.surface,
        options_out=snakemake.output.options,
        summary_out=snakemake.output.summary,
        claims_out=snakemake.output.claims,
    )
