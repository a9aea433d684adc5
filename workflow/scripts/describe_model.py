from attention_atlas.models.loading import describe
from attention_atlas.workflow.job import job

with job(snakemake, downloads=True):
    describe(
        name=snakemake.wildcards.model,
        entry=snakemake.params.model,
        card_out=snakemake.output.card,
        tokenizer_out=snakemake.output.tokenizer,
    )
