from attention_atlas.studies.kovaleva2019.predictions import predict
from attention_atlas.workflow.job import job

with job(snakemake):
    predict(
        base_entry=snakemake.params.base,
        members=snakemake.params.members,
        card_path=snakemake.input.card,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        regression=snakemake.params.regression,
        classifier_seeds=snakemake.params.classifier_seeds,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
