from attention_atlas.io.setting import setting_of
from attention_atlas.studies.tenney2019.summary import Outputs, TaskFiles, summarise
from attention_atlas.studies.tenney2019.traces import traced_sentences
from attention_atlas.workflow.job import job

with job(snakemake):
    outputs = dict(snakemake.output.items())
    traced_sentences(snakemake.input.cases, snakemake.params.sentences, outputs.pop("figure3"))
    summarise(
        model=snakemake.params.model,
        tasks={task: TaskFiles(**files) for task, files in snakemake.params.tasks.items()},
        settings={task: setting_of(values) for task, values in snakemake.params.settings.items()},
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        out=Outputs(**outputs),
    )
