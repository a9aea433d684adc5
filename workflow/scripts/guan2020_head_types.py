from attention_atlas.io.run_label import run_label_of
from attention_atlas.studies.guan2020.clustering import ClusterOptions, ClusterOutputs, cluster_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    cluster_heads(
        features_path=snakemake.input.features,
        options=ClusterOptions(
            features=snakemake.params.options,
            method=snakemake.params.method,
            fits=snakemake.params.fits,
            perplexity=snakemake.params.perplexity,
            seed=snakemake.params.seed,
        ),
        label=run_label_of(snakemake.params.label),
        outputs=ClusterOutputs(
            types=snakemake.output.types,
            plane=snakemake.output.plane,
            layers=snakemake.output.layers,
            summary=snakemake.output.summary,
            agreement=snakemake.output.agreement,
        ),
    )
