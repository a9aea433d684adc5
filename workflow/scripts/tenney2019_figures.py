from attention_atlas.io.setting import setting_of
from attention_atlas.studies.tenney2019.figures import figure1, figure2, figure3
from attention_atlas.workflow.job import job

with job(snakemake):
    settings = {task: setting_of(values) for task, values in snakemake.params.settings.items()}
    pictures = {
        name: {kind: snakemake.output[f"{name}_{kind}"] for kind in ("svg", "png", "pdf")}
        for name in ("figure1", "figure2", "figure3")
    }
    figure1(snakemake.input.figure1, settings, pictures["figure1"])
    figure2(snakemake.input.figure2, settings, pictures["figure2"])
    figure3(snakemake.input.figure3, settings, pictures["figure3"])
