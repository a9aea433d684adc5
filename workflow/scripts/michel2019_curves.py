from attention_atlas.io.setting import setting_of
from attention_atlas.studies.michel2019.curves import pruning_curves
from attention_atlas.studies.michel2019.head_importance import importance_table
from attention_atlas.workflow.job import job

with job(snakemake):
    chance = {"resamples": snakemake.params.resamples, "seed": snakemake.params.seed}
    importance_table(
        derivatives=snakemake.params.gradients,
        models=snakemake.params.models,
        settings={name: setting_of(values) for name, values in snakemake.params.weighed.items()},
        batch=snakemake.params.batch,
        out=snakemake.output.importance,
        html_out=snakemake.output.importance_html,
        **chance,
    )
    pruning_curves(
        answers=snakemake.params.pruned,
        settings={name: setting_of(values) for name, values in snakemake.params.settings.items()},
        figure3_out=snakemake.output.figure3,
        pruning_out=snakemake.output.pruning,
        pruning_html=snakemake.output.pruning_html,
        figure4_out=snakemake.output.figure4,
        **chance,
    )
