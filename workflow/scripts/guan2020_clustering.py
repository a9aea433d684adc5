from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.clustering import cluster_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    cluster_heads(
        features_path=snakemake.input.features,
        options=snakemake.params.options,
        method=snakemake.params.method,
        fits=snakemake.params.fits,
        perplexity=snakemake.params.perplexity,
        seed=snakemake.params.seed,
        setting=setting_of(snakemake.params.setting),
        out=snakemake.output.types,
        plane_out=snakemake.output.plane,
        layers_out=snakemake.output.layers,
        summary_out=snakemake.output.summary,
        agreement_out=snakemake.output.agreement,
        html_out=snakemake.output.html,
    )
