from attention_atlas.io.setting import setting_of
from attention_atlas.studies.michel2019.speed import measure_speed
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_speed(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        importance_path=snakemake.input.importance,
        definition=snakemake.params.definition,
        settings=snakemake.params.settings,
        setting=setting_of(snakemake.params.setting),
        threads=snakemake.threads,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
