from attention_atlas.models.mlm_head import ModelFiles
from attention_atlas.studies.clark2019.gradients import GradientOutputs, measure_gradients
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_gradients(
        model=ModelFiles(
            entry=snakemake.params.model,
            card=snakemake.input.card,
            mlm_head=snakemake.input.head,
            mlm_head_facts=snakemake.input.facts,
        ),
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        options=snakemake.params.options,
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        outputs=GradientOutputs(
            table=snakemake.output.tsv,
            variants=snakemake.output.variants,
            claims=snakemake.output.claims,
        ),
    )
