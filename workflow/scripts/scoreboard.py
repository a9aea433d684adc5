from attention_atlas.published.scoreboard import Pages, write_scoreboard
from attention_atlas.workflow.job import job

with job(snakemake):
    write_scoreboard(
        comparisons=snakemake.params.comparisons,
        claims=snakemake.params.claims,
        run=snakemake.params.run,
        generated=snakemake.params.generated,
        out=Pages(**dict(snakemake.output.items())),
    )
