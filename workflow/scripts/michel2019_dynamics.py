from attention_atlas.studies.michel2019.dynamics import follow_training
from attention_atlas.workflow.job import job

with job(snakemake):
    follow_training(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer_path=snakemake.input.tokenizer,
        epochs_path=snakemake.input.epochs,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        weighed_files=snakemake.input.weighed,
        weighed_limit=snakemake.params.weighed_limit,
        settings=snakemake.params.settings,
        search=snakemake.params.search,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
