from attention_atlas.smk import job
from attention_atlas.studies.setting import setting_of
from attention_atlas.studies.stefanik2021.figures import FIGURES

with job(snakemake):
    for name, draw in FIGURES.items():
        setting = setting_of(snakemake.params.settings[name])
        draw(snakemake.input[name], setting, {kind: snakemake.output[f"{name}_{kind}"] for kind in ("svg", "png", "pdf")})
