from attention_atlas.io.setting import setting_of
from attention_atlas.studies.kovaleva2019.table1 import table1
from attention_atlas.workflow.job import job

with job(snakemake):
    table1(
        predictions=snakemake.params.files,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
