from attention_atlas.studies.guan2020.ablations import ablate
from attention_atlas.workflow.job import job

with job(snakemake):
    ablate(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        types_path=snakemake.input.types,
        examples_path=snakemake.input.examples,
        limit=snakemake.params.limit,
        settings=snakemake.params.settings,
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
