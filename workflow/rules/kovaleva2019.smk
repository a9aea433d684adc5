# Kovaleva et al. (2019), Revealing the Dark Secrets of BERT. Input: models fine-tuned on GLUE, examples of its tasks, frames.

kovaleva2019 = StudyInputs(config, "kovaleva2019")
predictions_by_task = kovaleva2019.of_group("tasks", "results/{run}/kovaleva2019/predictions/{task}.parquet")
measures_by_seed = kovaleva2019.by_seed("tasks", "results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors")
disabled_by_seed = kovaleva2019.by_seed("tasks", "results/{run}/kovaleva2019/disabled/{task}-{seed}.parquet")
ANNOTATED = ("kovaleva2019/annotated_maps.csv", "kovaleva2019/annotated_texts.jsonl")
change_tables = "classes head_classes cosine special first_row features links options statistics".split()


use rule measured_by_model as kovaleva2019_predictions with:
    input:
        kovaleva2019.tuned_weights("tasks"),
        card=kovaleva2019.card("tasks"),
        examples=kovaleva2019.examples("tasks"),
    output:
        predictions="results/{run}/kovaleva2019/predictions/{task}.parquet",
    pathvars:
        job="kovaleva2019/predictions/{task}",
    resources:
        **kovaleva2019.model_resources(240),
    params:
        **kovaleva2019.parameters("models:predictions", "classifier_seeds"),
        base=kovaleva2019.model(),
        tuned=kovaleva2019.tuned("tasks"),
        limit=kovaleva2019.limit("tasks"),
        task="{task}",


use rule measured as kovaleva2019_scores with:
    input:
        leaves(predictions_by_task),
    output:
        scores="results/{run}/kovaleva2019/scores.tsv",
        gains="results/{run}/kovaleva2019/table1_gains.tsv",
    pathvars:
        job="kovaleva2019/scores",
    group:
        "kovaleva2019_pages"
    params:
        **kovaleva2019.parameters("scores:scores", "resamples", "seed"),
        predictions=predictions_by_task,


use rule measured_by_model as kovaleva2019_patterns with:
    input:
        kovaleva2019.seed_weights("drawn"),
        card=kovaleva2019.card("labelled"),
        tokenizer=kovaleva2019.tokenizer("labelled"),
        tuned_card=kovaleva2019.card("drawn"),
        examples=kovaleva2019.first(kovaleva2019.examples("drawn")),
    output:
        network="results/{run}/kovaleva2019/patterns/network.safetensors",
        thresholds="results/{run}/kovaleva2019/patterns/thresholds.tsv",
        table="results/{run}/kovaleva2019/patterns.tsv",
        held_out="results/{run}/kovaleva2019/patterns/held_out.tsv",
        drawn="results/{run}/kovaleva2019/drawn.tsv",
    pathvars:
        job="kovaleva2019/patterns",
    params:
        **kovaleva2019.parameters(
            *("patterns:patterns", "resamples", "seed"), resources=ANNOTATED, settings="patterns", task="drawn_task"
        ),
        model=kovaleva2019.model("labelled"),
        tuned=kovaleva2019.of_seed("drawn"),
        limit=kovaleva2019.limit("drawn"),


use rule measured_by_model as kovaleva2019_measures with:
    input:
        kovaleva2019.seed_weights("tasks"),
        card=kovaleva2019.card("tasks"),
        examples=kovaleva2019.examples("tasks"),
        network="results/{run}/kovaleva2019/patterns/network.safetensors",
        thresholds="results/{run}/kovaleva2019/patterns/thresholds.tsv",
        tagged=kovaleva2019.if_named("tagged", kovaleva2019.examples("tagged")),
    output:
        measures="results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors",
        disabled="results/{run}/kovaleva2019/disabled/{task}-{seed}.parquet",
    pathvars:
        job="kovaleva2019/measures/{task}-{seed}",
    resources:
        **kovaleva2019.model_resources(1440),
    params:
        **kovaleva2019.parameters("models:measures", "padded", "tagger", "seed", "measured_records", "ablated_records"),
        base=kovaleva2019.model(),
        tuned=kovaleva2019.of_seed("tasks"),
        limit=kovaleva2019.limits(examples="tasks", tagged="tagged"),
        task="{task}",


use rule measured as kovaleva2019_changes with:
    input:
        leaves(measures_by_seed),
        leaves(disabled_by_seed),
        held_out="results/{run}/kovaleva2019/patterns/held_out.tsv",
    output:
        **{name: f"results/{{run}}/kovaleva2019/changes/{name}.tsv" for name in change_tables},
        disabling_heads="results/{run}/kovaleva2019/disabling_heads.tsv",
        disabling_layers="results/{run}/kovaleva2019/disabling_layers.tsv",
        disabling_summary="results/{run}/kovaleva2019/disabling.tsv",
    pathvars:
        job="kovaleva2019/changes",
    params:
        **kovaleva2019.parameters("changes:changes", "resamples", "seed"),
        measures=measures_by_seed,
        disabled=disabled_by_seed,


use rule measured as kovaleva2019_frames with:
    input:
        **kovaleva2019.maps("frames"),
    output:
        **{name: f"results/{{run}}/kovaleva2019/frame_{name}.tsv" for name in ("heads", "options", "sentence")},
    pathvars:
        job="kovaleva2019/frames",
    resources:
        **kovaleva2019.map_resources("frames", 30, stored=8 * 6),
    params:
        **kovaleva2019.parameters("changes:frames", "pairing", "direction", "resamples", "seed"),
        limit=kovaleva2019.limit("frames"),
