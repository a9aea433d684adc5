from attention_atlas.smk import job
from attention_atlas.studies.dropped import dropped_table

with job(snakemake):
    dropped_table(
        corpora=snakemake.params.corpora,
        line=snakemake.params.line,
        title=snakemake.params.title,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
