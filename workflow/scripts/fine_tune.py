from pathlib import Path

from attention_atlas.workflow.job import job

with job(snakemake):
    from attention_atlas.models.fine_tuning import fine_tune
    from attention_atlas.models.loading import describe

    fine_tune(
        base_entry=snakemake.params.base,
        card_path=snakemake.input.card,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        training=snakemake.params.training,
        threads=snakemake.threads,
        folder=Path(snakemake.output.weights).parent,
        summary_out=snakemake.output.summary,
        epochs_out=snakemake.output.get("epochs"),
        code=snakemake.params.code,
    )
    describe(
        name=snakemake.wildcards.model,
        entry=snakemake.params.model,
        card_out=snakemake.output.card,
        tokenizer_out=snakemake.output.described,
    )
