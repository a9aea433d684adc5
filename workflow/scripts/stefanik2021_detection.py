from attention_atlas.io.run_label import run_label_of
from attention_atlas.studies.stefanik2021.detection import detection_tables
from attention_atlas.studies.stefanik2021.regression import Fit
from attention_atlas.workflow.job import job

with job(snakemake):
    outputs = dict(snakemake.output.items())
    tables = ("relative_attention", "head_ranking", "logistic_regression", "detectors")
    detection_tables(
        words_path=snakemake.input.words,
        card_path=snakemake.input.card,
        label=run_label_of(snakemake.params.label),
        way=snakemake.params.way,
        fit=Fit(**snakemake.params.fit),
        resamples=snakemake.params.resamples,
        tables={name: outputs[name] for name in tables},
        pages={name: outputs[f"{name}_html"] for name in tables if f"{name}_html" in outputs},
        scores_out=outputs["scores"],
    )
