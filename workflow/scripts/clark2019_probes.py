from attention_atlas.studies.clark2019.probes.training import Recipe, run_probes
from attention_atlas.workflow.job import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    recipe = dict(params.recipe)
    run_probes(
        model_name=snakemake.wildcards.model,
        own=snakemake.wildcards.model == params.own,
        card_path=files.card,
        training=(files.training, files.training_examples, params.training_limit),
        evaluation=(files.evaluation, files.evaluation_examples, params.evaluation_limit),
        vectors_path=files.vectors,
        vectors_facts=files.facts,
        recipe=Recipe(**recipe | {"seeds": tuple(recipe["seeds"])}),
        decodings=params.decodings,
        threads=snakemake.threads,
        out=snakemake.output.table,
        summary_out=snakemake.output.summary,
    )
