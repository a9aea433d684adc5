# Michel et al. (2019), Are Sixteen Heads Really Better than One? Input: a translation model and sentences with translations, a model
# fine-tuned on a task and its examples. Output: tables in results/{run}/michel2019, of which studies/michel2019/{tables,figures}.py
# make tables and figures.

from attention_atlas.methods.head_measures import CLASSIFICATION, TRANSLATION
from attention_atlas.workflow.study_inputs import StudyInputs
from attention_atlas.workflow.paths import one_of
from attention_atlas.workflow.resources import gpus, memory, minutes

michel2019 = StudyInputs(config, "michel2019")
MASKED = "results/{run}/michel2019/masked/{experiment}.parquet"
GRADIENTS = "results/{run}/michel2019/gradients/{experiment}.parquet"
tested = "{wildcards.experiment}"
second = "{wildcards.experiment}_other"
further = "{wildcards.experiment}_{wildcards.further}"
scored = ("{wildcards.experiment}_importance", "importance", "records")
scored_dynamics = ("dynamics_importance", "importance", "records")
search = ("beams", "length_penalty")


wildcard_constraints:
    experiment=one_of((TRANSLATION, CLASSIFICATION)),
    further="other|test|selection",


use rule measured_by_model as michel2019_masked with:
    input:
        michel2019.card(tested),
        michel2019.tokenizer(tested),
        examples=michel2019.examples(tested),
        second_examples=michel2019.examples(second),
    output:
        answers=MASKED,
        second_answers="results/{run}/michel2019/masked/{experiment}_other.parquet",
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
        experiment=michel2019.opened(tested, *search),
        limit=michel2019.limits(examples=tested, second_examples=second),


use rule michel2019_masked as michel2019_heldout with:
    input:
        michel2019.card(tested),
        michel2019.tokenizer(tested),
        examples=michel2019.examples(further),
        answers=MASKED,
    output:
        answers="results/{run}/michel2019/heldout/{experiment}_{further}.parquet",
    log:
        "results/{run}/logs/michel2019/heldout/{experiment}_{further}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/heldout/{experiment}_{further}.tsv"
    params:
        **michel2019.parameters("experiments:heldout"),
        limit=michel2019.limit(further),


use rule michel2019_masked as michel2019_gradients with:
    input:
        michel2019.card(tested),
        michel2019.tokenizer(tested),
        scored_examples=michel2019.examples(*scored),
    output:
        derivatives=GRADIENTS,
    log:
        "results/{run}/logs/michel2019/gradients/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/gradients/{experiment}.tsv"
    params:
        **michel2019.parameters("experiments:gradients"),
        limit=michel2019.bounded(*scored),


use rule michel2019_masked as michel2019_pruned with:
    input:
        michel2019.card(tested),
        michel2019.tokenizer(tested),
        examples=michel2019.examples(tested),
        scored_examples=michel2019.examples(*scored),
        answers=MASKED,
        derivatives=GRADIENTS,
    output:
        answers="results/{run}/michel2019/pruned/{experiment}.parquet",
    log:
        "results/{run}/logs/michel2019/pruned/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/pruned/{experiment}.tsv"
    params:
        **michel2019.parameters("experiments:pruned", "importance", "pruning", "seed"),
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
        **michel2019.parameters("experiments:dynamics", "importance", "pruning"),
        experiment=michel2019.opened("dynamics", *search),
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
        **michel2019.parameters("experiments:timing", "importance", "speed"),
        model=michel2019.model("classification"),
        limit=michel2019.bounded("classification", "speed", "records"),


use rule measured as michel2019_ablation with:
    input:
        translation="results/{run}/michel2019/masked/translation.parquet",
        translation_other="results/{run}/michel2019/masked/translation_other.parquet",
        classification="results/{run}/michel2019/masked/classification.parquet",
        classification_other="results/{run}/michel2019/masked/classification_other.parquet",
    output:
        heads="results/{run}/michel2019/ablation.tsv",
        best_translation="results/{run}/michel2019/ablation_best_translation.tsv",
        best_classification="results/{run}/michel2019/ablation_best_classification.tsv",
        statistics="results/{run}/michel2019/ablation_statistics.tsv",
        correlation_heads="results/{run}/michel2019/correlation_heads.tsv",
        correlations="results/{run}/michel2019/correlations.tsv",
    log:
        "results/{run}/logs/michel2019/ablation.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/ablation.tsv"
    params:
        **michel2019.parameters("ablations:masked_heads", "same_file", "excluded_extremes", "resamples", "seed"),


use rule measured as michel2019_head_importance with:
    input:
        translation="results/{run}/michel2019/gradients/translation.parquet",
        classification="results/{run}/michel2019/gradients/classification.parquet",
    output:
        importance="results/{run}/michel2019/head_importance.tsv",
        statistics="results/{run}/michel2019/head_importance_statistics.tsv",
    log:
        "results/{run}/logs/michel2019/head_importance.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/head_importance.tsv"
    params:
        **michel2019.parameters("ablations:head_importance", "models", "resamples", "seed", batch="importance.batch"),


use rule measured as michel2019_pruning with:
    input:
        translation="results/{run}/michel2019/pruned/translation.parquet",
        classification="results/{run}/michel2019/pruned/classification.parquet",
    output:
        curves="results/{run}/michel2019/pruning_curves.tsv",
        by_kind="results/{run}/michel2019/pruning_curves_by_kind.tsv",
        statistics="results/{run}/michel2019/pruning_statistics.tsv",
    log:
        "results/{run}/logs/michel2019/pruning.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/pruning.tsv"
    params:
        **michel2019.parameters("ablations:pruning_curves", "resamples", "seed"),


use rule measured as michel2019_training with:
    input:
        dynamics="results/{run}/michel2019/dynamics.parquet",
    output:
        curves="results/{run}/michel2019/training_curves.tsv",
        statistics="results/{run}/michel2019/training_statistics.tsv",
    log:
        "results/{run}/logs/michel2019/training.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/training.tsv"
    params:
        **michel2019.parameters("ablations:training_curves", "resamples", "seed"),
