from attention_atlas.io.html_pages import link_pages
from attention_atlas.workflow.job import job
from attention_atlas.workflow.render import render

with job(snakemake):
    params = {name: value for name, value in snakemake.params.items() if name not in ("function", "links", "code")}
    render(snakemake.params.function, dict(snakemake.input.items()), dict(snakemake.output.items()), params)
    link_pages(snakemake.output, snakemake.params.links)
