from attention_atlas.studies.guan2020.head_features import measure_features
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_features(
        shards=snakemake.input.shards,
        example_files=snakemake.input.examples,
        card_path=snakemake.input.card,
        samples=snakemake.params.samples,
        out=snakemake.output[0],
    )
