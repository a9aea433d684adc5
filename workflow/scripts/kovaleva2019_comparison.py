from attention_atlas.io.setting import setting_of
from attention_atlas.studies.kovaleva2019.comparison import Tables, comparison
from attention_atlas.workflow.job import job

with job(snakemake):
    # A table that the run does not have comes as an empty list.
    tables = {name: files for name, files in snakemake.input.items() if files}
    comparison(
        tables=Tables(**tables),
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        recipe=snakemake.params.recipe,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
        digitised_out=snakemake.output.digitised,
        digitised_html=snakemake.output.digitised_html,
        claims_out=snakemake.output.claims,
        claims_html=snakemake.output.claims_html,
    )
