from attention_atlas.studies.kovaleva2019.measures import MeasureSettings, measure
from attention_atlas.workflow.job import job

with job(snakemake):
    measure(
        base_entry=snakemake.params.base,
        tuned_entry=snakemake.params.tuned,
        card_path=snakemake.input.card,
        example_files=snakemake.input.examples,
        settings=MeasureSettings(
            limit=snakemake.params.limit,
            padded_length=snakemake.params.padded["length"],
            padded_records=snakemake.params.padded["records"],
            tagger=snakemake.params.tagger,
            seed=snakemake.params.seed,
        ),
        network_path=snakemake.input.network,
        thresholds_path=snakemake.input.thresholds,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
