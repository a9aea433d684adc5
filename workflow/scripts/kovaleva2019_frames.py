from attention_atlas.io.html_pages import link_pages
from attention_atlas.io.run_label import run_label_of
from attention_atlas.studies.kovaleva2019.frame_heads import FrameOutputs, frame_heads
from attention_atlas.workflow.job import job

with job(snakemake):
    frame_heads(
        shards=snakemake.input.shards,
        example_files=snakemake.input.examples,
        limit=snakemake.params.limit,
        pairing=snakemake.params.pairing,
        direction=snakemake.params.direction,
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        label=run_label_of(snakemake.params.label),
        outputs=FrameOutputs(
            heads=snakemake.output.tsv,
            options=snakemake.output.options,
            options_html=snakemake.output.options_html,
            sentence=snakemake.output.sentence,
        ),
    )
    link_pages(snakemake.output, snakemake.params.links)
