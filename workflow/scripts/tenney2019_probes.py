from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, ProbedTask, probe_tasks
from attention_atlas.studies.tenney2019.training import Recipe
from attention_atlas.workflow.job import job

with job(snakemake):

    def corpus(found):
        return ProbedCorpus(**found) if found else None

    probe_tasks(
        tasks={
            task: ProbedTask(
                training=corpus(found["training"]),
                development=corpus(found["development"]),
                cases=corpus(found["cases"]),
                recipe=Recipe(**found["recipe"]),
            )
            for task, found in snakemake.params.tasks.items()
        },
        plan=Plan(**snakemake.params.plan),
        out=Outputs(**dict(snakemake.output.items())),
        threads=snakemake.threads,
    )
