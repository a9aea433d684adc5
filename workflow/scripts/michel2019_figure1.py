from attention_atlas.smk import job
from attention_atlas.studies.michel2019.figure1 import figure1
from attention_atlas.studies.setting import setting_of

with job(snakemake):
    figure1(
        path=snakemake.input[0],
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
