from attention_atlas.io.setting import setting_of
from attention_atlas.studies.kovaleva2019.figure2 import figure2
from attention_atlas.workflow.job import job

with job(snakemake):
    figure2(
        path=snakemake.input.classes,
        patterns_path=snakemake.input.patterns,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
