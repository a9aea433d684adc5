from pathlib import Path

from attention_atlas.workflow.job import job

with job(snakemake):
    from sample_corpus.write import write_sample

    write_sample(
        directory=Path(snakemake.output.documents).parent,
        documents=snakemake.params.documents,
        seed=snakemake.params.seed,
        train_documents=snakemake.params.train_documents,
    )
