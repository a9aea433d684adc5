from attention_atlas.smk import job
from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, probe_task
from attention_atlas.studies.tenney2019.training import Recipe

with job(snakemake):
    parts = {
        part: ProbedCorpus(snakemake.input[f"{part}_examples"], snakemake.input[f"{part}_states"], limit)
        for part, limit in snakemake.params.limits.items()
    }
    probe_task(
        task=snakemake.wildcards.edge_task,
        training=parts["training"],
        development=parts["development"],
        cases=parts.get("cases"),
        plan=Plan(**snakemake.params.plan),
        recipe=Recipe(**snakemake.params.recipe),
        out=Outputs(**dict(snakemake.output.items())),
        threads=snakemake.threads,
    )
