from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource
from attention_atlas.studies.michel2019.masked_answers import mask_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    mask_heads(
        name=snakemake.wildcards.experiment,
        model=ModelSource(
            entry=snakemake.params.model,
            card_path=snakemake.input.card,
            tokenizer_path=snakemake.input.tokenizer,
            search=snakemake.params.search,
        ),
        examples=ExampleFiles(snakemake.input.examples, snakemake.params.limit),
        second_examples=ExampleFiles(snakemake.input.second_examples, snakemake.params.second_limit),
        threads=snakemake.threads,
        out=snakemake.output.answers,
        second_out=snakemake.output.second_answers,
    )
