from attention_atlas.io.setting import setting_of
from attention_atlas.studies.michel2019.figures import FIGURES
from attention_atlas.workflow.job import job

with job(snakemake):
    settings = {name: setting_of(values) for name, values in snakemake.params.settings.items()}
    for name, figure in FIGURES.items():
        pictures = {kind: snakemake.output[f"{name}_{kind}"] for kind in ("svg", "png", "pdf")}
        figure(snakemake.input, settings, pictures)
