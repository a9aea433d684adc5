from attention_atlas.io.html_pages import link_pages
from attention_atlas.studies.kovaleva2019.patterns import PatternOutputs, PatternSettings, train_patterns
from attention_atlas.workflow.job import job

with job(snakemake):
    train_patterns(
        model_entry=snakemake.params.model,
        card_path=snakemake.input.card,
        tokenizer=snakemake.input.tokenizer,
        settings=PatternSettings(**{name: snakemake.params.settings[name] for name in ("size", "scale", "epochs", "folds")}),
        resamples=snakemake.params.resamples,
        seed=snakemake.params.seed,
        line=snakemake.params.line,
        threads=snakemake.threads,
        outputs=PatternOutputs(
            network=snakemake.output.network,
            thresholds=snakemake.output.thresholds,
            table=snakemake.output.tsv,
            html=snakemake.output.html,
            labelling=snakemake.output.labelling,
        ),
    )
    link_pages(snakemake.output, snakemake.params.links)
