from attention_atlas.io.setting import setting_of
from attention_atlas.studies.guan2020.ablation_tables import ablation_table, baselines_table, table2_page
from attention_atlas.workflow.job import job

with job(snakemake):
    files, resampling = snakemake.input, (snakemake.params.resamples, snakemake.params.seed)
    setting = setting_of(snakemake.params.setting)
    ablation_table("table2", files.answers, files.heads, *resampling, snakemake.output.tsv)
    baselines_table(files.baselines, *resampling, setting, snakemake.output.baselines, snakemake.output.baselines_html)
    table2_page(snakemake.output.tsv, snakemake.output.baselines, setting, snakemake.output.html)
