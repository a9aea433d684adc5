from attention_atlas.studies.stefanik2021.documents import write_documents
from attention_atlas.workflow.job import job

with job(snakemake):
    write_documents(
        corpora=snakemake.params.corpora,
        line=snakemake.params.line,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
