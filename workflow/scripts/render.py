from attention_atlas.workflow.job import job
from attention_atlas.workflow.render import render

with job(snakemake):
    params = {name: value for name, value in snakemake.params.items() if name not in ("function", "links", "code")}
    files, outputs = dict(snakemake.input.items()), dict(snakemake.output.items())
    render(snakemake.params.function, files, outputs, params, snakemake.params.links)
