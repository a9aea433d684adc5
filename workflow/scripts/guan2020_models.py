from attention_atlas.studies.guan2020.models_compared import compare_models
from attention_atlas.workflow.job import job

with job(snakemake):
    compare_models(
        types_path=snakemake.input.types,
        features=dict(zip(snakemake.params.names, snakemake.input.features, strict=True)),
        options=snakemake.params.options,
        method=snakemake.params.method,
        seed=snakemake.params.seed,
        out=snakemake.output.tsv,
    )
