from attention_atlas.smk import job
from attention_atlas.studies.kovaleva2019.table1 import table1
from attention_atlas.studies.setting import setting_of

with job(snakemake):
    table1(
        predictions=snakemake.params.files,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
