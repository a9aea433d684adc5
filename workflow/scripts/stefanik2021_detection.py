from attention_atlas.studies.stefanik2021.detection import detection_tables
from attention_atlas.studies.stefanik2021.regression import Fit
from attention_atlas.workflow.job import job

with job(snakemake):
    outputs = dict(snakemake.output.items())
    tables = ("relative_attention", "head_ranking", "logistic_regression", "detectors", "rank_correlations")
    detection_tables(
        words_path=snakemake.input.words,
        card_path=snakemake.input.card,
        reduction=snakemake.params.reduction,
        fit=Fit(**snakemake.params.fit),
        resamples=snakemake.params.resamples,
        tables={name: outputs[name] for name in tables},
        scores_out=outputs["scores"],
    )
