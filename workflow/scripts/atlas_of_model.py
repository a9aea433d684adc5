from attention_atlas.atlas.of_model import Outputs, measure_model
from attention_atlas.stats.held_out import Resampling
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_model(
        shards=snakemake.input.shards,
        example_files=snakemake.input.examples,
        card_path=snakemake.input.card,
        limit=snakemake.params.limit,
        min_count=snakemake.params.min_count,
        resampling=Resampling(snakemake.params.folds, snakemake.params.resamples, snakemake.params.seed),
        out=Outputs(**dict(snakemake.output.items())),
    )
