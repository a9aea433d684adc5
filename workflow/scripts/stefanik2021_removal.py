from attention_atlas.studies.stefanik2021.removal import remove_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    remove_heads(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        files={split: snakemake.input[split] for split in ("development", "test")},
        limits=snakemake.params.limits,
        step=snakemake.params.step,
        draws=snakemake.params.draws,
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        out=snakemake.output[0],
    )
