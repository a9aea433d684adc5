from attention_atlas.studies.michel2019.pruned_answers import prune_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    prune_heads(
        name=snakemake.wildcards.experiment,
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer_path=snakemake.input.tokenizer,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        weighed_files=snakemake.input.weighed,
        weighed_limit=snakemake.params.weighed_limit,
        masked_path=snakemake.input.masked,
        settings=snakemake.params.settings,
        search=snakemake.params.search,
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        gradients_out=snakemake.output.gradients,
        out=snakemake.output.answers,
    )
