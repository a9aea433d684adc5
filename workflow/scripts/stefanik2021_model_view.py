from attention_atlas.io.html_pages import link_pages
from attention_atlas.studies.stefanik2021.views import write_views
from attention_atlas.workflow.job import job

with job(snakemake):
    write_views(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer_path=snakemake.input.tokenizer,
        pairs=snakemake.params.pairs,
        run=snakemake.params.run,
        pages={name: snakemake.output[name] for name in ("model_view", "head_view")},
        out=snakemake.output.tsv,
    )
    link_pages(snakemake.output, snakemake.params.links)
