from pathlib import Path

from sample_corpus.write import write_sample

from attention_atlas.workflow.job import job

with job(snakemake):
    write_sample(
        directory=Path(snakemake.output.documents).parent,
        documents=snakemake.params.documents,
        seed=snakemake.params.seed,
        train_documents=snakemake.params.train_documents,
    )
