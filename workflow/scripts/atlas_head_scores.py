from attention_atlas.atlas.head_scores import Draws, InputFiles, write_head_scores
from attention_atlas.workflow.job import job

with job(snakemake):
    write_head_scores(
        snakemake.params.model,
        InputFiles(
            card=snakemake.input.card,
            tokenizer=snakemake.input.tokenizer,
            examples=snakemake.input.examples,
            limit=snakemake.params.limit,
            draws=Draws(**snakemake.params.scores, resamples=snakemake.params.resamples, seed=snakemake.params.seed),
            patterns=snakemake.params.patterns,
        ),
        random_scores_path=snakemake.input.random_scores,
        out=snakemake.output[0],
        threads=snakemake.threads,
    )
