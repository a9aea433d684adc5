from attention_atlas.io.html_pages import link_pages
from attention_atlas.io.run_label import run_label_of
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.gap import measure_gap
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_gap(
        shards=snakemake.input.shards,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        resampling=Resampling(snakemake.params.folds, snakemake.params.resamples, snakemake.params.seed),
        label=run_label_of(snakemake.params.label),
        out=snakemake.output.tsv,
        heads_out=snakemake.output.heads,
        html_out=snakemake.output.html,
    )
    link_pages(snakemake.output, snakemake.params.links)
