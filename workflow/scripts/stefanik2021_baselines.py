from attention_atlas.io.html_pages import link_pages
from attention_atlas.io.run_label import run_label_of
from attention_atlas.studies.stefanik2021.baselines import BaselineOptions, write_baselines
from attention_atlas.workflow.job import job

with job(snakemake):
    write_baselines(
        files={split: snakemake.input[split] for split in ("development", "test")},
        limits=snakemake.params.limits,
        scores_path=snakemake.input.scores,
        removals=snakemake.params.removals,
        encoder=snakemake.params.encoder,
        encoder_entry=snakemake.params.encoder_entry,
        options=BaselineOptions(**snakemake.params.options),
        label=run_label_of(snakemake.params.label),
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
    link_pages(snakemake.output, snakemake.params.links)
