from attention_atlas.smk import job
from attention_atlas.studies.michel2019.ablation_tables import ablation_tables
from attention_atlas.studies.setting import setting_of

with job(snakemake):
    ablation_tables(
        translations=snakemake.input.translations,
        classes=snakemake.input.classes,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        table1_out=snakemake.output.table1,
        table1_html=snakemake.output.table1_html,
        table2_out=snakemake.output.table2,
        table2_html=snakemake.output.table2_html,
        table3_out=snakemake.output.table3,
        table3_html=snakemake.output.table3_html,
        figure1_out=snakemake.output.figure1,
    )
