from attention_atlas.io.setting import setting_of
from attention_atlas.studies.stefanik2021.removal_tables import removal_tables
from attention_atlas.workflow.job import job

with job(snakemake):
    names = ("fine_tuning", "ablation", "cumulative_ablation")
    removal_tables(
        files=snakemake.params.files,
        setting=setting_of(snakemake.params.setting),
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        tables={name: snakemake.output[name] for name in names},
        pages={name: snakemake.output[f"{name}_html"] for name in names},
    )
