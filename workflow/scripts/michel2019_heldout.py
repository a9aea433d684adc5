from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource
from attention_atlas.studies.michel2019.heldout_answers import answer_with_one_head
from attention_atlas.workflow.job import job

with job(snakemake):
    answer_with_one_head(
        name=snakemake.wildcards.experiment,
        model=ModelSource(
            entry=snakemake.params.model,
            card_path=snakemake.input.card,
            tokenizer_path=snakemake.input.tokenizer,
            search=snakemake.params.search,
        ),
        examples=ExampleFiles(snakemake.input.examples, snakemake.params.limit),
        masked_path=snakemake.input.masked,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
