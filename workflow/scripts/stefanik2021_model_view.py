from attention_atlas.studies.stefanik2021.views import write_views
from attention_atlas.workflow.job import job

with job(snakemake):
    write_views(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer_path=snakemake.input.tokenizer,
        pairs=snakemake.params.pairs,
        out=snakemake.output.tsv,
    )
