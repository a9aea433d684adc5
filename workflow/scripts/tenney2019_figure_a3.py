from attention_atlas.io.setting import setting_of
from attention_atlas.studies.tenney2019.figures import figure2
from attention_atlas.studies.tenney2019.summary import TaskFiles, bars_of_models
from attention_atlas.workflow.job import job

with job(snakemake):
    models = {
        model: {task: TaskFiles(**files) for task, files in tasks.items()} for model, tasks in snakemake.params.models.items()
    }
    bars_of_models(models, snakemake.params.resamples, snakemake.params.seed, snakemake.output.tsv)
    figure2(
        snakemake.output.tsv,
        {task: setting_of(values) for task, values in snakemake.params.settings.items()},
        {kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
