from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.coreference_windows import DividedCorpus, compare_windows
from attention_atlas.workflow.job import job

with job(snakemake):
    names, limits = snakemake.params.divisions, snakemake.params.limits
    shards = snakemake.input.shards, snakemake.input.window_shards
    examples = snakemake.input.examples, snakemake.input.window_examples
    compare_windows(
        corpora=[DividedCorpus(*parts) for parts in zip(names, shards, examples, limits, strict=True)],
        options=snakemake.params.options,
        name_lists=snakemake.input.name_lists,
        resampling=Resampling(snakemake.params.folds, snakemake.params.resamples, snakemake.params.seed),
        out=snakemake.output.table,
    )
