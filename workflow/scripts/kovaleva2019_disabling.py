from attention_atlas.io.setting import setting_of
from attention_atlas.studies.kovaleva2019.disabling_tables import disabling_tables
from attention_atlas.workflow.job import job

with job(snakemake):
    disabling_tables(
        files=snakemake.params.files,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        single_out=snakemake.output.single,
        heads_out=snakemake.output.heads,
        layers_out=snakemake.output.layers,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
