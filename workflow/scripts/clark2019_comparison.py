from attention_atlas.smk import job
from attention_atlas.studies.clark2019.comparison import comparison
from attention_atlas.studies.clark2019.setting import setting_of

with job(snakemake):
    comparison(
        surface_path=snakemake.input.surface,
        summary_path=snakemake.input.summary,
        relations_path=snakemake.input.relations,
        heads_path=snakemake.input.heads,
        treebank_path=snakemake.input.treebank,
        segments_setting=setting_of(snakemake.params.segments_setting),
        treebank_setting=setting_of(snakemake.params.treebank_setting),
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
    )
