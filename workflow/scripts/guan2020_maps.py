from attention_atlas.studies.guan2020.drawn_maps import draw_maps
from attention_atlas.workflow.job import job

with job(snakemake):
    draw_maps(
        shards=[snakemake.input.shards],
        types_path=snakemake.input.types,
        limit=snakemake.params.limit,
        out=snakemake.output.maps,
        grid_out=snakemake.output.grid,
    )
