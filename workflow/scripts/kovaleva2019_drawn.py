from attention_atlas.studies.kovaleva2019.drawn_patterns import draw_patterns
from attention_atlas.workflow.job import job

with job(snakemake):
    draw_patterns(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        network_path=snakemake.input.network,
        thresholds_path=snakemake.input.thresholds,
        task=snakemake.params.task,
        out=snakemake.output[0],
    )
