from attention_atlas.smk import job
from attention_atlas.studies.guan2020.head_features import measure_features

with job(snakemake):
    measure_features(
        shards=snakemake.input.shards,
        example_files=snakemake.input.examples,
        card_path=snakemake.input.card,
        samples=snakemake.params.samples,
        out=snakemake.output[0],
    )
