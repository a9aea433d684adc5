from attention_atlas.studies.kovaleva2019.disabling import disable
from attention_atlas.workflow.job import job

with job(snakemake):
    disable(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        regression=snakemake.params.regression,
        actions=snakemake.params.actions,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
