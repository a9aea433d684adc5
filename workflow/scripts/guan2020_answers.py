from attention_atlas.studies.guan2020.ablations import score_answers
from attention_atlas.workflow.job import job

with job(snakemake):
    score_answers(
        card_path=snakemake.input.card,
        types_path=snakemake.input.types,
        example_files=snakemake.input.examples,
        answer_files=snakemake.input.answers,
        limit=snakemake.params.limit,
        settings=snakemake.params.settings,
        seed=snakemake.params.seed,
        out=snakemake.output.answers,
        heads_out=snakemake.output.heads,
        baselines_out=snakemake.output.baselines,
    )
