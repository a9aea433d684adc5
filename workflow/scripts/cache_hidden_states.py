from attention_atlas.models.hidden_states import extract_hidden_states
from attention_atlas.workflow.job import job

with job(snakemake):
    extract_hidden_states(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        examples_path=snakemake.input.examples,
        corpus=snakemake.wildcards.corpus,
        out=snakemake.output.shard,
        description_out=snakemake.output.description,
        threads=snakemake.threads,
    )
