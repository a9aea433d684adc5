from attention_atlas.studies.clark2019.probes.vectors import prepare_vectors
from attention_atlas.workflow.job import job

with job(snakemake):
    prepare_vectors(
        model_name=snakemake.params.name,
        model_entry=snakemake.params.model,
        training=(snakemake.input.training, snakemake.params.training_limit),
        evaluation=(snakemake.input.evaluation, snakemake.params.evaluation_limit),
        file=next(iter(snakemake.input.file), None),
        encoding=snakemake.params.encoding,
        dimensions=snakemake.params.dimensions,
        out=snakemake.output.vectors,
        facts_out=snakemake.output.facts,
    )
