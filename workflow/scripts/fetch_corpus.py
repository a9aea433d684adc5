from attention_atlas.workflow.job import job

with job(snakemake, downloads=True):
    from attention_atlas.corpora.sources import fetch

    fetch(
        snakemake.params.source,
        snakemake.output.raw,
        reader=snakemake.params.reader,
        rows_out=snakemake.output.rows,
        **snakemake.params.order,
    )
