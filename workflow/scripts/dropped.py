from attention_atlas.methods.dropped import dropped_table
from attention_atlas.workflow.job import job

with job(snakemake):
    dropped_table(
        corpora=snakemake.params.corpora,
        line=snakemake.params.line,
        title=snakemake.params.title,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
