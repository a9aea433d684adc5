from attention_atlas.atlas.head_scores import Draws, write_random_scores
from attention_atlas.workflow.job import job

with job(snakemake):
    write_random_scores(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer_path=snakemake.input.tokenizer,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        draws=Draws(**snakemake.params.scores, resamples=snakemake.params.resamples, seed=snakemake.params.seed),
        out=snakemake.output[0],
        threads=snakemake.threads,
        patterns=snakemake.params.patterns,
    )
