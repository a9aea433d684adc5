from attention_atlas.studies.kovaleva2019.patterns import train_patterns
from attention_atlas.workflow.job import job

with job(snakemake):
    train_patterns(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer=snakemake.input.tokenizer,
        settings=snakemake.params.settings,
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        line=snakemake.params.line,
        threads=snakemake.threads,
        network_out=snakemake.output.network,
        thresholds_out=snakemake.output.thresholds,
        out=snakemake.output.tsv,
        html_out=snakemake.output.html,
        labelling_out=snakemake.output.labelling,
    )
