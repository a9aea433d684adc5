from attention_atlas.io.setting import setting_of
from attention_atlas.studies.michel2019.curves import dynamics_table
from attention_atlas.studies.michel2019.figures import figure5
from attention_atlas.workflow.job import job

with job(snakemake):
    dynamics_table(
        path=snakemake.input[0],
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        out=snakemake.output.tsv,
    )
    figure5(
        path=snakemake.output.tsv,
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
