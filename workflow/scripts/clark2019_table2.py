from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.table2 import table2_pages
from attention_atlas.workflow.job import job

with job(snakemake):
    table2_pages(
        table_path=snakemake.input.table,
        options_path=snakemake.input.options,
        summary_path=snakemake.input.summary,
        windows_path=next(iter(snakemake.input.windows), None),
        setting=setting_of(snakemake.params.setting),
        out=snakemake.output.html,
        options_out=snakemake.output.options,
        options_html_out=snakemake.output.options_html,
    )
