from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.gradients import measure_gradients
from attention_atlas.workflow.job import job

with job(snakemake):
    measure_gradients(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        head_path=snakemake.input.head,
        head_facts_path=snakemake.input.facts,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        options=snakemake.params.options,
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        setting=setting_of(snakemake.params.setting),
        threads=snakemake.threads,
        out=snakemake.output.tsv,
        variants_out=snakemake.output.variants,
        html_out=snakemake.output.html,
    )
