from attention_atlas.atlas.relation_effects import Chosen, write_relation_effects
from attention_atlas.models.mlm_head import ModelFiles
from attention_atlas.workflow.job import job

with job(snakemake):
    write_relation_effects(
        files=ModelFiles(
            snakemake.params.model, snakemake.input.card, snakemake.input.mlm_head, snakemake.input.mlm_head_facts
        ),
        example_files=snakemake.input.examples,
        relations_path=snakemake.input.relations,
        limit=snakemake.params.limit,
        chosen=Chosen(**snakemake.params.effects, resamples=snakemake.params.resamples, seed=snakemake.params.seed),
        weights_out=snakemake.output.weights,
        effects_out=snakemake.output.effects,
        threads=snakemake.threads,
    )
