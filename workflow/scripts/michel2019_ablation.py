from attention_atlas.io.setting import setting_of
from attention_atlas.studies.michel2019.ablation_tables import ablation_tables
from attention_atlas.studies.michel2019.correlations import correlations
from attention_atlas.workflow.job import job

with job(snakemake):
    settings = {name: setting_of(values) for name, values in snakemake.params.settings.items()}
    chance = {"resamples": snakemake.params.resamples, "seed": snakemake.params.seed}
    ablation_tables(
        answers=snakemake.params.masked,
        settings=settings,
        table1_out=snakemake.output.table1,
        table1_html=snakemake.output.table1_html,
        table2_out=snakemake.output.table2,
        table2_html=snakemake.output.table2_html,
        table3_out=snakemake.output.table3,
        table3_html=snakemake.output.table3_html,
        figure1_out=snakemake.output.figure1,
        **chance,
    )
    correlations(
        answers={name: (path, snakemake.params.other[name]) for name, path in snakemake.params.masked.items()},
        settings={name: setting_of(values) for name, values in snakemake.params.all_settings.items()},
        extremes=snakemake.params.extremes,
        out=snakemake.output.figure2,
        correlations_out=snakemake.output.correlations,
        html_out=snakemake.output.correlations_html,
        **chance,
    )
