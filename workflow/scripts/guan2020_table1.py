from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.table1 import table1
from attention_atlas.workflow.job import job

with job(snakemake):
    table1(
        features=dict(zip(snakemake.params.names, snakemake.input.features, strict=True)),
        options=snakemake.params.options,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        fits=snakemake.params.fits,
        seed=snakemake.params.seed,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
