# Michel et al. (2019), Are Sixteen Heads Really Better than One? Input: a translation model, a fine-tuned model, examples.

michel2019 = StudyInputs(config, "michel2019")
MASKED, PRUNED = "results/{run}/michel2019/masked/{experiment}", "results/{run}/michel2019/pruned/{experiment}"
EFFECTS = ("ablation", "ablation_best_translation", "ablation_best_classification", "correlation_heads", "correlations")
EFFECTS += ("head_importance", "pruning_curves", "pruning_curves_by_kind", "statistics")
FURTHER = {TRANSLATION: "translation_test", CLASSIFICATION: "classification_selection"}  # roles of Tables 5 and 6
further_examples_of = {kind: michel2019.if_named(role, michel2019.examples(role)) for kind, role in FURTHER.items()}
tested, second = "{wildcards.experiment}", "{wildcards.experiment}_other"
scored = ("{wildcards.experiment}_importance", "importance", "records")
importance = {"definition": "importance.definition", "batch": "importance.batch"}


use rule measured_by_model as michel2019_masked with:
    input:
        *(michel2019.card(tested), michel2019.tokenizer(tested)),
        examples=michel2019.examples(tested),
        second_examples=michel2019.examples(second),
        further_examples=lambda wildcards: further_examples_of[wildcards.experiment](wildcards),
    output:
        answers=f"{MASKED}.parquet",
        second_answers=f"{MASKED}_other.parquet",
        further_answers=f"{MASKED}_further.parquet",
    pathvars:
        job="michel2019/masked/{experiment}",
    resources:
        **michel2019.model_resources(1440),
    params:
        **michel2019.parameters("experiments:masked"),
        experiment=michel2019.opened(tested, "beams"),
        limit=lambda wildcards: michel2019.limits(
            examples=tested, second_examples=second, further_examples=FURTHER[wildcards.experiment]
        )(wildcards),


use rule michel2019_masked as michel2019_pruned with:
    input:
        *(michel2019.card(tested), michel2019.tokenizer(tested)),
        examples=michel2019.examples(tested),
        scored_examples=michel2019.examples(*scored),
        answers=f"{MASKED}.parquet",
    output:
        answers=f"{PRUNED}.parquet",
        derivatives=f"{PRUNED}_derivatives.parquet",
    pathvars:
        job="michel2019/pruned/{experiment}",
    params:
        **michel2019.parameters("experiments:pruned", "pruning", "seed", **importance),
        limit=michel2019.limits(examples=tested, scored_examples=scored),


use rule michel2019_masked as michel2019_dynamics with:
    input:
        *(michel2019.card("dynamics"), michel2019.tokenizer("dynamics")),
        epochs=michel2019.of_role("dynamics", "results/{run}/models/{model}/epochs.safetensors"),
        examples=michel2019.examples("dynamics"),
        scored_examples=michel2019.examples("dynamics_importance", "importance", "records"),
    output:
        answers="results/{run}/michel2019/dynamics.parquet",
    pathvars:
        job="michel2019/dynamics",
    params:
        **michel2019.parameters("experiments:dynamics", "pruning", **importance),
        experiment=michel2019.opened("dynamics", "beams"),
        limit=michel2019.limits(examples="dynamics", scored_examples=("dynamics_importance", "importance", "records")),


use rule measured_by_model as michel2019_timing with:
    input:
        card=michel2019.card("classification"),
        examples=michel2019.examples("classification", "speed", "records"),
        head_importance="results/{run}/michel2019/head_importance.tsv",
    output:
        timing="results/{run}/michel2019/timing.tsv",
    pathvars:
        job="michel2019/timing",
    resources:
        **michel2019.model_resources(240),
    params:
        **michel2019.parameters("experiments:timing", "speed", definition="importance.definition"),
        model=michel2019.model("classification"),
        limit=michel2019.bounded("classification", "speed", "records"),


use rule measured as michel2019_effects with:
    input:
        answers=expand(f"{MASKED}.parquet", experiment=FURTHER, allow_missing=True),
        second_answers=expand(f"{MASKED}_other.parquet", experiment=FURTHER, allow_missing=True),
        derivatives=expand(f"{PRUNED}_derivatives.parquet", experiment=FURTHER, allow_missing=True),
        pruned=expand(f"{PRUNED}.parquet", experiment=FURTHER, allow_missing=True),
    output:
        **{name: f"results/{{run}}/michel2019/{name}.tsv" for name in EFFECTS},
    pathvars:
        job="michel2019/effects",
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
    pathvars:
        job="michel2019/training",
    params:
        **michel2019.parameters("effects:training_curves", "resamples", "seed"),
