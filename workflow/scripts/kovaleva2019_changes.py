from attention_atlas.studies.kovaleva2019.change_tables import ChangeOutputs, change_tables
from attention_atlas.workflow.job import job

with job(snakemake):
    change_tables(
        files=snakemake.params.files,
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        outputs=ChangeOutputs(**dict(snakemake.output.items())),
    )
