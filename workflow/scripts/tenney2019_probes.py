from attention_atlas.studies.tenney2019.probed_states import ProbedModel, probe_model
from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, ProbedTask
from attention_atlas.studies.tenney2019.recipe import Recipe
from attention_atlas.workflow.job import job

with job(snakemake):
    probed = dict(snakemake.params.probed)
    recipe = Recipe(**probed.pop("recipe"))
    probe_model(
        model=ProbedModel(snakemake.params.model, snakemake.input.card),
        task=snakemake.wildcards.task,
        probed=ProbedTask(
            **{part: ProbedCorpus(**corpus, states=()) if corpus else None for part, corpus in probed.items()}, recipe=recipe
        ),
        plan=Plan(**snakemake.params.plan),
        out=Outputs(**dict(snakemake.output.items())),
        folder=f"{snakemake.output.scores}.states",
        threads=snakemake.threads,
    )
