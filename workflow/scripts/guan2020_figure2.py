from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.figure2 import figure2
from attention_atlas.workflow.job import job

with job(snakemake):
    figure2(
        plane_path=snakemake.input.plane,
        agreement_path=snakemake.input.agreement,
        summary_path=snakemake.input.summary,
        setting=setting_of(snakemake.params.setting),
        pictures={kind: snakemake.output[kind] for kind in ("svg", "png", "pdf")},
    )
