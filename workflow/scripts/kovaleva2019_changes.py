from attention_atlas.io.run_label import run_label_of
from attention_atlas.studies.kovaleva2019.change_tables import ChangeOutputs, change_tables
from attention_atlas.workflow.job import job

with job(snakemake):
    change_tables(
        files=snakemake.params.files,
        labels={name: run_label_of(values) for name, values in snakemake.params.labels.items()},
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        outputs=ChangeOutputs(**dict(snakemake.output.items())),
    )
