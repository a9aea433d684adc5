from attention_atlas.smk import job
from attention_atlas.studies.michel2019.masked_classes import classify_masked

with job(snakemake):
    classify_masked(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
