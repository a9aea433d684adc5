from attention_atlas.studies.michel2019.dynamics import follow_training
from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource
from attention_atlas.studies.michel2019.pruned_answers import PruningOptions
from attention_atlas.workflow.job import job

with job(snakemake):
    follow_training(
        model=ModelSource(
            entry=snakemake.params.model,
            card_path=snakemake.input.card,
            tokenizer_path=snakemake.input.tokenizer,
            search=snakemake.params.search,
        ),
        epochs_path=snakemake.input.epochs,
        examples=ExampleFiles(snakemake.input.examples, snakemake.params.limit),
        scored_examples=ExampleFiles(snakemake.input.scored_examples, snakemake.params.scored_limit),
        options=PruningOptions(**snakemake.params.options),
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
