from attention_atlas.smk import job
from attention_atlas.studies.guan2020.figure1 import figure1
from attention_atlas.studies.setting import setting_of

with job(snakemake):
    figure1(
        maps_path=snakemake.input.maps,
        types_path=snakemake.input.types,
        summary_path=snakemake.input.summary,
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
