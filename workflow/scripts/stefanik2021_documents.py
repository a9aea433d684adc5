from attention_atlas.smk import job
from attention_atlas.studies.stefanik2021.documents import write_documents

with job(snakemake):
    write_documents(
        corpora=snakemake.params.corpora,
        line=snakemake.params.line,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
