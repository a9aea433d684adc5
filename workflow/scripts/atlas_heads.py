from attention_atlas.atlas.measures import write_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    write_heads(
        tables=snakemake.params.tables,
        model=snakemake.params.model,
        layers=snakemake.params.shape[0],
        heads=snakemake.params.shape[1],
        models=snakemake.params.models,
        left_out=snakemake.params.left_out,
        out=snakemake.output.heads,
        measures_out=snakemake.output.measures,
        html_out=snakemake.output.html,
        run=snakemake.params.run,
    )
