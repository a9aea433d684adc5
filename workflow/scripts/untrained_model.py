from pathlib import Path

from attention_atlas.workflow.job import job

with job(snakemake):
    from attention_atlas.models.fine_tuning import write_untrained_model
    from attention_atlas.models.loading import describe

    write_untrained_model(
        settings=snakemake.params.settings, texts=snakemake.input, folder=Path(snakemake.output.config).parent
    )
    describe(
        name=snakemake.wildcards.model,
        entry=snakemake.params.model,
        card_out=snakemake.output.card,
        tokenizer_out=snakemake.output.described,
    )
