from attention_atlas.io.setting import setting_of
from attention_atlas.studies.stefanik2021.figures import FIGURES
from attention_atlas.workflow.job import job

with job(snakemake):
    for name, table in snakemake.input.items():
        pictures = {kind: snakemake.output[f"{name}_{kind}"] for kind in ("svg", "png", "pdf")}
        FIGURES[name](table, setting_of(snakemake.params.settings[name]), pictures)
