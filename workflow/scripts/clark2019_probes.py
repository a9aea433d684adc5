from attention_atlas.studies.clark2019.probes.training import (
    ALL_PROBES,
    RANDOM_PROBES,
    ProbeOutputs,
    Recipe,
    Treebank,
    VectorFiles,
    run_probes,
)
from attention_atlas.workflow.job import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    recipe = dict(params.recipe)
    run_probes(
        model_name=snakemake.wildcards.model,
        card_path=files.card,
        probe_names=ALL_PROBES if snakemake.wildcards.model == params.run_model else RANDOM_PROBES,
        training=Treebank(files.training, files.training_examples, params.training_limit),
        evaluation=Treebank(files.evaluation, files.evaluation_examples, params.evaluation_limit),
        vector_files=VectorFiles(files.vectors, files.facts),
        recipe=Recipe(**recipe | {"seeds": tuple(recipe["seeds"])}),
        decodings=params.decodings,
        threads=snakemake.threads,
        outputs=ProbeOutputs(snakemake.output.table, snakemake.output.summary),
    )
