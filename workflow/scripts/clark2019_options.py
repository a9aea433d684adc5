from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.options_table import options_table
from attention_atlas.workflow.job import job

with job(snakemake):
    options_table(
        dependency_options=snakemake.input.dependency_options,
        surface_options=snakemake.input.surface_options,
        surface=snakemake.input.surface,
        relations=snakemake.input.relations,
        variants=snakemake.params.variants,
        setting=setting_of(snakemake.params.setting),
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
