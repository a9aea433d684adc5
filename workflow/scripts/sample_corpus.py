from pathlib import Path

from attention_atlas.corpora.sample.write import write_sample
from attention_atlas.smk import job

with job(snakemake):
    write_sample(Path(snakemake.output.documents).parent, snakemake.params.documents, snakemake.params.seed)
