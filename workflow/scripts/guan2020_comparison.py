from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.comparison import Tables, comparison
from attention_atlas.workflow.job import job

with job(snakemake):
    comparison(
        tables=Tables(**dict(snakemake.input.items())),
        setting=setting_of(snakemake.params.setting),
        fits=snakemake.params.fits,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
        claims_out=snakemake.output.claims,
        claims_html=snakemake.output.claims_html,
    )
