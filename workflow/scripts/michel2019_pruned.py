from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource
from attention_atlas.studies.michel2019.pruned_answers import PruningOptions, prune_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    prune_heads(
        name=snakemake.wildcards.experiment,
        model=ModelSource(
            entry=snakemake.params.model,
            card_path=snakemake.input.card,
            tokenizer_path=snakemake.input.tokenizer,
            search=snakemake.params.search,
        ),
        examples=ExampleFiles(snakemake.input.examples, snakemake.params.limit),
        scored_examples=ExampleFiles(snakemake.input.scored_examples, snakemake.params.scored_limit),
        masked_path=snakemake.input.masked,
        gradients_path=snakemake.input.gradients,
        options=PruningOptions(**snakemake.params.options),
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
