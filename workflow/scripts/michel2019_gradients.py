from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource
from attention_atlas.studies.michel2019.pruned_answers import differentiate
from attention_atlas.workflow.job import job

with job(snakemake):
    differentiate(
        name=snakemake.wildcards.experiment,
        model=ModelSource(
            entry=snakemake.params.model,
            card_path=snakemake.input.card,
            tokenizer_path=snakemake.input.tokenizer,
            search=snakemake.params.search,
        ),
        scored_examples=ExampleFiles(snakemake.input.scored_examples, snakemake.params.scored_limit),
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
