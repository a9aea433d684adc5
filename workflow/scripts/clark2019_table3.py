from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.probes.table3 import table3
from attention_atlas.workflow.job import job

with job(snakemake):
    table3(
        own_path=snakemake.input.own,
        random_paths=snakemake.input.random,
        training_path=snakemake.input.training,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        setting=setting_of(snakemake.params.setting),
        training_title=snakemake.params.trained_on,
        out=snakemake.output.tsv,
        seeds_out=snakemake.output.seeds,
        html_out=snakemake.output.html,
    )
