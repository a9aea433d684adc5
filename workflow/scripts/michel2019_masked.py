from attention_atlas.studies.michel2019.masked_answers import mask_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    mask_heads(
        name=snakemake.wildcards.experiment,
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer_path=snakemake.input.tokenizer,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        other_files=snakemake.input.other,
        other_limit=snakemake.params.other_limit,
        search=snakemake.params.search,
        threads=snakemake.threads,
        out=snakemake.output.own,
        other_out=snakemake.output.other,
    )
