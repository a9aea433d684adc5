from attention_atlas.io.html_pages import link_pages
from attention_atlas.io.run_label import run_label_of
from attention_atlas.studies.michel2019.experiments import ExampleFiles
from attention_atlas.studies.michel2019.speed import SpeedOptions, measure_speed
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_speed(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        example_files=ExampleFiles(snakemake.input.examples, snakemake.params.limit),
        importance_path=snakemake.input.importance,
        options=SpeedOptions(definition=snakemake.params.definition, **snakemake.params.speed),
        label=run_label_of(snakemake.params.label),
        threads=snakemake.threads,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
    link_pages(snakemake.output, snakemake.params.links)
