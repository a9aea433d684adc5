from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.ablation_tables import ablation_table, table3_page
from attention_atlas.workflow.job import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    ablation_table("table3", files.answers, files.heads, params.resamples, params.seed, snakemake.output.tsv)
    table3_page(snakemake.output.tsv, setting_of(params.setting), snakemake.output.html)
