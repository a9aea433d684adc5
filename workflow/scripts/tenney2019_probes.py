from attention_atlas.studies.tenney2019.probed_states import ProbedModel, probe_model
from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, ProbedTask
from attention_atlas.studies.tenney2019.recipe import Recipe
from attention_atlas.workflow.job import job

with job(snakemake):

    def corpus(files):
        return ProbedCorpus(**files, states=()) if files else None

    probe_model(
        model=ProbedModel(snakemake.params.model, snakemake.input.card),
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
        folder=f"{snakemake.output.scores}.states",
        threads=snakemake.threads,
    )
