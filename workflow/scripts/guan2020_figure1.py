from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.figure1 import figure1
from attention_atlas.workflow.job import job

with job(snakemake):
    figure1(
        maps_path=snakemake.input.maps,
        types_path=snakemake.input.types,
        summary_path=snakemake.input.summary,
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
