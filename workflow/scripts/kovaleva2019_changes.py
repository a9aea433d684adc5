from attention_atlas.io.setting import setting_of
from attention_atlas.studies.kovaleva2019.change_tables import change_tables
from attention_atlas.workflow.job import job

with job(snakemake):
    change_tables(
        files=snakemake.params.files,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        classes_out=snakemake.output.classes,
        head_classes_out=snakemake.output.head_classes,
        cosine_out=snakemake.output.cosine,
        special_out=snakemake.output.special,
        first_row_out=snakemake.output.first_row,
        features_out=snakemake.output.features,
        features_html=snakemake.output.features_html,
        options_out=snakemake.output.options,
        options_html=snakemake.output.options_html,
    )
