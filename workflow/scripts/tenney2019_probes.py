from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, ProbedTask, probe_tasks
from attention_atlas.studies.tenney2019.recipe import Recipe
from attention_atlas.workflow.job import job

with job(snakemake):

    def corpus(files):
        return ProbedCorpus(**files) if files else None

    probe_tasks(
        tasks={
            task: ProbedTask(
                training=corpus(probed["training"]),
                development=corpus(probed["development"]),
                cases=corpus(probed["cases"]),
                recipe=Recipe(**probed["recipe"]),
            )
            for task, probed in snakemake.params.tasks.items()
        },
        plan=Plan(**snakemake.params.plan),
        out=Outputs(**dict(snakemake.output.items())),
        threads=snakemake.threads,
    )
