# Štefánik, Attention Semantics. Input: documents with keyphrases, attention over them, taggers fine-tuned on them.

stefanik2021 = StudyInputs(config, "stefanik2021")
FIT = ("folds", "l2_penalty", "fits", "permutations", "resamples", "seed")
DETECTION = "relative_attention head_ranking logistic_regression detectors rank_correlations".split()
REMOVALS = "results/{run}/stefanik2021/removals/{model}.parquet"
removals_by_seed = stefanik2021.of_group("taggers", REMOVALS)


use rule measured as stefanik2021_detection with:
    input:
        **stefanik2021.maps("documents"),
        card=stefanik2021.card("documents"),
    output:
        **{name: f"results/{{run}}/stefanik2021/detection/{name}.tsv" for name in DETECTION},
        words="results/{run}/stefanik2021/words.parquet",
    pathvars:
        job="stefanik2021/detection",
    resources:
        **stefanik2021.map_resources("documents", 240, stored=8000),
    params:
        **stefanik2021.parameters("detection:detection", *FIT),
        limit=stefanik2021.limit("documents"),


use rule measured_by_model as stefanik2021_removal with:
    input:
        card="results/{run}/models/{model}/card.json",
        development=stefanik2021.examples("development"),
        test=stefanik2021.examples("test"),
    output:
        removals=REMOVALS,
    pathvars:
        job="stefanik2021/removal/{model}",
    resources:
        **stefanik2021.model_resources(1440),
    params:
        **stefanik2021.parameters("removal:removal", "step", "random_orders", "seed"),
        model=stefanik2021.model_entry,
        limit=stefanik2021.limits("development", "test"),


use rule measured_by_model as stefanik2021_scores with:
    input:
        leaves(removals_by_seed),
        words="results/{run}/stefanik2021/words.parquet",
        development=stefanik2021.examples("development"),
        test=stefanik2021.examples("test"),
        card=stefanik2021.card("sentence_encoder"),
    output:
        fine_tuning="results/{run}/stefanik2021/removal_tables/fine_tuning.tsv",
        ablation="results/{run}/stefanik2021/removal_tables/ablation.tsv",
        cumulative_ablation="results/{run}/stefanik2021/cumulative_ablation.tsv",
        baselines="results/{run}/stefanik2021/extraction/baselines.tsv",
    pathvars:
        job="stefanik2021/scores",
    params:
        **stefanik2021.parameters("scores:scores", "max_phrase_words", "resamples", "seed"),
        removals=removals_by_seed,
        encoder=stefanik2021.model("sentence_encoder"),
        limit=stefanik2021.limits("development", "test"),
