# Michel et al. (2019), Are Sixteen Heads Really Better than One? Input: a translation model and sentences with translations, a model
# fine-tuned on a task and its examples. Output: tables in results/{run}/michel2019, of which studies/michel2019/{tables,figures}.py
# make tables and figures.

from functools import partial

from attention_atlas.methods.head_measures import CLASSIFICATION, TRANSLATION
from attention_atlas.workflow.study_inputs import StudyInputs
from attention_atlas.workflow.paths import one_of
from attention_atlas.workflow.shared_inputs import gpus, memory, minutes

michel2019 = StudyInputs(config, "michel2019")
MASKED = "results/{run}/michel2019/masked/{experiment}.parquet"
FURTHER = {TRANSLATION: "translation_test", CLASSIFICATION: "classification_selection"}  # roles of Tables 5 and 6
further_examples_of = {kind: michel2019.if_named(role, michel2019.examples(role)) for kind, role in FURTHER.items()}
further_limits = {kind: michel2019.if_named(role, michel2019.limit(role)) for kind, role in FURTHER.items()}
tested = "{wildcards.experiment}"
second = "{wildcards.experiment}_other"
scored = ("{wildcards.experiment}_importance", "importance", "records")
importance = {"definition": "importance.definition", "batch": "importance.batch"}
scored_dynamics = ("dynamics_importance", "importance", "records")
of_experiments = partial(expand, experiment=(TRANSLATION, CLASSIFICATION), allow_missing=True)  # files of both experiments


wildcard_constraints:
    experiment=one_of((TRANSLATION, CLASSIFICATION)),


use rule measured_by_model as michel2019_masked with:
    input:
        michel2019.card(tested),
        michel2019.tokenizer(tested),
        examples=michel2019.examples(tested),
        second_examples=michel2019.examples(second),
        further_examples=lambda wildcards: further_examples_of[wildcards.experiment](wildcards),
    output:
        answers=MASKED,
        second_answers="results/{run}/michel2019/masked/{experiment}_other.parquet",
        further_answers="results/{run}/michel2019/masked/{experiment}_further.parquet",
    log:
        "results/{run}/logs/michel2019/masked/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/masked/{experiment}.tsv"
    resources:
        mem_mb=michel2019.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        **michel2019.parameters("experiments:masked"),
        experiment=michel2019.opened(tested, "beams"),
        limit=lambda wildcards: {
            **michel2019.limits(examples=tested, second_examples=second)(wildcards),
            "further_examples": further_limits[wildcards.experiment](wildcards) or 0,
        },


use rule michel2019_masked as michel2019_pruned with:
    input:
        michel2019.card(tested),
        michel2019.tokenizer(tested),
        examples=michel2019.examples(tested),
        scored_examples=michel2019.examples(*scored),
        answers=MASKED,
    output:
        answers="results/{run}/michel2019/pruned/{experiment}.parquet",
        derivatives="results/{run}/michel2019/pruned/{experiment}_derivatives.parquet",
    log:
        "results/{run}/logs/michel2019/pruned/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/pruned/{experiment}.tsv"
    params:
        **michel2019.parameters("experiments:pruned", "pruning", "seed", **importance),
        limit=michel2019.limits(examples=tested, scored_examples=scored),


use rule michel2019_masked as michel2019_dynamics with:
    input:
        michel2019.card("dynamics"),
        michel2019.tokenizer("dynamics"),
        epochs=michel2019.of_role("dynamics", "results/{run}/models/{model}/epochs.safetensors"),
        examples=michel2019.examples("dynamics"),
        scored_examples=michel2019.examples(*scored_dynamics),
    output:
        answers="results/{run}/michel2019/dynamics.parquet",
    log:
        "results/{run}/logs/michel2019/dynamics.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/dynamics.tsv"
    params:
        **michel2019.parameters("experiments:dynamics", "pruning", **importance),
        experiment=michel2019.opened("dynamics", "beams"),
        limit=michel2019.limits(examples="dynamics", scored_examples=scored_dynamics),


use rule measured_by_model as michel2019_timing with:
    input:
        card=michel2019.card("classification"),
        examples=michel2019.examples("classification", "speed", "records"),
        head_importance="results/{run}/michel2019/head_importance.tsv",
    output:
        timing="results/{run}/michel2019/timing.tsv",
    log:
        "results/{run}/logs/michel2019/timing.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/timing.tsv"
    resources:
        mem_mb=michel2019.model_memory(),
        runtime=minutes(240),
        gpu=gpus(config),
    params:
        **michel2019.parameters("experiments:timing", "speed", definition="importance.definition"),
        model=michel2019.model("classification"),
        limit=michel2019.bounded("classification", "speed", "records"),


use rule measured as michel2019_effects with:
    input:
        answers=of_experiments(MASKED),
        second_answers=of_experiments("results/{run}/michel2019/masked/{experiment}_other.parquet"),
        derivatives=of_experiments("results/{run}/michel2019/pruned/{experiment}_derivatives.parquet"),
        pruned=of_experiments("results/{run}/michel2019/pruned/{experiment}.parquet"),
    output:
        ablation="results/{run}/michel2019/ablation.tsv",
        ablation_best_translation="results/{run}/michel2019/ablation_best_translation.tsv",
        ablation_best_classification="results/{run}/michel2019/ablation_best_classification.tsv",
        correlation_heads="results/{run}/michel2019/correlation_heads.tsv",
        correlations="results/{run}/michel2019/correlations.tsv",
        head_importance="results/{run}/michel2019/head_importance.tsv",
        pruning_curves="results/{run}/michel2019/pruning_curves.tsv",
        pruning_curves_by_kind="results/{run}/michel2019/pruning_curves_by_kind.tsv",
        statistics="results/{run}/michel2019/statistics.tsv",
    log:
        "results/{run}/logs/michel2019/effects.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/effects.tsv"
    params:
        **michel2019.parameters(
            "effects:effects", "same_file", "excluded_extremes", "resamples", "seed", batch="importance.batch"
        ),


use rule measured as michel2019_training with:
    input:
        dynamics="results/{run}/michel2019/dynamics.parquet",
    output:
        training_curves="results/{run}/michel2019/training_curves.tsv",
        training_statistics="results/{run}/michel2019/training_statistics.tsv",
    log:
        "results/{run}/logs/michel2019/training.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/training.tsv"
    params:
        **michel2019.parameters("effects:training_curves", "resamples", "seed"),
