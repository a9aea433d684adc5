from pathlib import Path

from attention_atlas.corpora.sample.write import write_sample
from attention_atlas.smk import job

with job(snakemake):
    write_sample(
        directory=Path(snakemake.output.documents).parent,
        documents=snakemake.params.documents,
        seed=snakemake.params.seed,
        train_documents=snakemake.params.train_documents,
    )
