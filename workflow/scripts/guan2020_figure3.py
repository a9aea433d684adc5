from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.figure3 import figure3
from attention_atlas.workflow.job import job

with job(snakemake):
    figure3(
        layers_path=snakemake.input.layers,
        summary_path=snakemake.input.summary,
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
