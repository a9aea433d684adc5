from pathlib import Path

from attention_atlas.models.blank import begin
from attention_atlas.smk import job

with job(snakemake):
    begin(settings=snakemake.params.settings, texts=snakemake.input, folder=Path(snakemake.output.config).parent)
