from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.clustering import cluster_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    cluster_heads(
        distances_path=snakemake.input.distances,
        blocks_path=snakemake.input.blocks,
        surface_path=snakemake.input.surface,
        relations_path=snakemake.input.relations,
        table2_path=next(iter(snakemake.input.table2), None),
        options=snakemake.params.options,
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        setting=setting_of(snakemake.params.setting),
        out=snakemake.output.heads,
        layers_out=snakemake.output.layers,
        test_out=snakemake.output.test,
        html_out=snakemake.output.html,
    )
