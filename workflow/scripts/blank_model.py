from pathlib import Path

from attention_atlas.models.blank import begin
from attention_atlas.workflow.job import job

with job(snakemake):
    begin(settings=snakemake.params.settings, texts=snakemake.input, folder=Path(snakemake.output.config).parent)
