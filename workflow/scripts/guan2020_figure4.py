from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.figure4 import figure4
from attention_atlas.workflow.job import job

with job(snakemake):
    figure4(
        path=snakemake.input.types,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
