from attention_atlas.workflow.job import job
from attention_atlas.workflow.render import render

with job(snakemake):
    params = {name: value for name, value in snakemake.params.items() if name not in ("function", "code")}
    render(snakemake.params.function, dict(snakemake.input.items()), dict(snakemake.output.items()), params)
