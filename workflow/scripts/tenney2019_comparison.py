from attention_atlas.io.setting import setting_of
from attention_atlas.studies.tenney2019.comparison import Tables, comparison
from attention_atlas.workflow.job import job

with job(snakemake):
    comparison(
        tables=Tables(**dict(snakemake.input.items())),
        settings={task: setting_of(values) for task, values in snakemake.params.settings.items()},
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
        claims_out=snakemake.output.claims,
        claims_html=snakemake.output.claims_html,
    )
