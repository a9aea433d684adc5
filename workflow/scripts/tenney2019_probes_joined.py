from attention_atlas.studies.tenney2019.seed_parts import JoinedOutputs, join_seeds
from attention_atlas.workflow.job import job

with job(snakemake):
    join_seeds(
        tasks=snakemake.params.tasks,
        scores=snakemake.input.scores,
        weights=snakemake.input.weights,
        counts=snakemake.input.counts,
        traces=snakemake.input.traces,
        out=JoinedOutputs(**dict(snakemake.output.items())),
    )
