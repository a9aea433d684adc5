from attention_atlas.io.setting import setting_of
from attention_atlas.studies.clark2019.figure6 import figure6
from attention_atlas.workflow.job import job

with job(snakemake):
    figure6(
        heads_path=snakemake.input.heads,
        layers_path=snakemake.input.layers,
        test_path=snakemake.input.test,
        segments_path=snakemake.input.segments,
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
