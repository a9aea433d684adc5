# Štefánik, Attention Semantics. Input: documents with keyphrases, attention over them, taggers fine-tuned on them. Output:
# results/{run}/stefanik2021, see workflow/resources/artifacts.yaml.

STEFANIK = "stefanik2021"


rule stefanik2021_words:
    input:
        attention=shards_of(STEFANIK, "documents"),
        examples=shards_of(STEFANIK, "documents", "examples", "parquet"),
    output:
        "results/{run}/stefanik2021/words.parquet",
    log:
        "results/{run}/logs/stefanik2021/words.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/words.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(STEFANIK, "documents", kept=4000),
        runtime=minutes(60),
    params:
        limit=limit_for(STEFANIK, "documents"),
        diagonal=settings(STEFANIK, "diagonal"),
        code=script_digest("stefanik2021_words.py"),
    script:
        "../scripts/stefanik2021_words.py"


rule stefanik2021_detection:
    input:
        words="results/{run}/stefanik2021/words.parquet",
        card=card_of(STEFANIK, "documents"),
    output:
        relative_attention="results/{run}/stefanik2021/relative_attention.tsv",
        head_ranking="results/{run}/stefanik2021/head_ranking.tsv",
        logistic_regression="results/{run}/stefanik2021/logistic_regression.tsv",
        detectors="results/{run}/stefanik2021/detectors.tsv",
        head_ranking_html="results/{run}/stefanik2021/head_ranking.html",
        logistic_regression_html="results/{run}/stefanik2021/logistic_regression.html",
        detectors_html=report(
            "results/{run}/stefanik2021/detectors.html", **about(STEFANIK, "detectors")
        ),
        scores="results/{run}/stefanik2021/scores.parquet",
    log:
        "results/{run}/logs/stefanik2021/detection.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/detection.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(240),
    params:
        setting=setting_for(STEFANIK, "documents"),
        way=settings(STEFANIK, "way"),
        fit=fit_settings,
        resamples=settings(STEFANIK, "resamples"),
        code=script_digest("stefanik2021_detection.py"),
    script:
        "../scripts/stefanik2021_detection.py"


rule stefanik2021_removal:
    input:
        card="results/{run}/models/{model}/card.json",
        development=shards_of(STEFANIK, "development", "examples", "parquet"),
        test=shards_of(STEFANIK, "test", "examples", "parquet"),
    output:
        "results/{run}/stefanik2021/removals/{model}.parquet",
    log:
        "results/{run}/logs/stefanik2021/removal/{model}.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/removal/{model}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=removal_memory,
        runtime=minutes(1440),
        gpu=gpus,
    params:
        model=model_entry,
        limits=split_limits,
        step=settings(STEFANIK, "step"),
        draws=settings(STEFANIK, "random_orders"),
        seed=settings(STEFANIK, "seed"),
        code=script_digest("stefanik2021_removal.py"),
    script:
        "../scripts/stefanik2021_removal.py"


rule stefanik2021_removal_tables:
    input:
        removal_files,
    output:
        fine_tuning="results/{run}/stefanik2021/fine_tuning.tsv",
        ablation="results/{run}/stefanik2021/ablation.tsv",
        cumulative_ablation="results/{run}/stefanik2021/cumulative_ablation.tsv",
        fine_tuning_html="results/{run}/stefanik2021/fine_tuning.html",
        ablation_html="results/{run}/stefanik2021/ablation.html",
        cumulative_ablation_html="results/{run}/stefanik2021/cumulative_ablation.html",
    log:
        "results/{run}/logs/stefanik2021/removal_tables.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/removal_tables.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(60),
    params:
        files=removals_by_seed,
        setting=tagging_setting,
        resamples=settings(STEFANIK, "resamples"),
        seed=settings(STEFANIK, "seed"),
        code=script_digest("stefanik2021_removal_tables.py"),
    script:
        "../scripts/stefanik2021_removal_tables.py"


rule stefanik2021_baselines:
    input:
        development=shards_of(STEFANIK, "development", "examples", "parquet"),
        test=shards_of(STEFANIK, "test", "examples", "parquet"),
        scores="results/{run}/stefanik2021/scores.parquet",
        removals=removal_files,
        card=card_of(STEFANIK, "documents"),
    output:
        tsv="results/{run}/stefanik2021/baselines.tsv",
        html="results/{run}/stefanik2021/baselines.html",
    log:
        "results/{run}/logs/stefanik2021/baselines.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/baselines.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(240),
        gpu=gpus,
    params:
        limits=split_limits,
        removals=removals_by_seed,
        model=model_of(STEFANIK),
        longest=settings(STEFANIK, "longest"),
        setting=setting_for(STEFANIK, "test"),
        resamples=settings(STEFANIK, "resamples"),
        seed=settings(STEFANIK, "seed"),
        code=script_digest("stefanik2021_baselines.py"),
    script:
        "../scripts/stefanik2021_baselines.py"


rule stefanik2021_views:
    input:
        card=card_of(STEFANIK, "documents"),
        tokenizer=tokenizer_of(STEFANIK, "documents"),
    output:
        model_view=report(
            "results/{run}/stefanik2021/model_view.html",
            **about(STEFANIK, "model_view"),
        ),
        head_view="results/{run}/stefanik2021/head_view.html",
        tsv="results/{run}/stefanik2021/model_view.tsv",
    log:
        "results/{run}/logs/stefanik2021/views.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/views.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=views_memory,
        runtime=minutes(60),
    params:
        model=model_of(STEFANIK),
        pairs=settings(STEFANIK, "pairs"),
        run=run_title,
        code=script_digest("stefanik2021_views.py"),
    script:
        "../scripts/stefanik2021_views.py"


rule stefanik2021_figures:
    input:
        relative_attention="results/{run}/stefanik2021/relative_attention.tsv",
        head_ranking="results/{run}/stefanik2021/head_ranking.tsv",
        logistic_regression="results/{run}/stefanik2021/logistic_regression.tsv",
        model_view="results/{run}/stefanik2021/model_view.tsv",
    output:
        relative_attention_svg=report(
            "results/{run}/stefanik2021/relative_attention.svg",
            **about(STEFANIK, "relative_attention"),
        ),
        relative_attention_png="results/{run}/stefanik2021/relative_attention.png",
        relative_attention_pdf="results/{run}/stefanik2021/relative_attention.pdf",
        head_ranking_svg=report(
            "results/{run}/stefanik2021/head_ranking.svg",
            **about(STEFANIK, "head_ranking"),
        ),
        head_ranking_png="results/{run}/stefanik2021/head_ranking.png",
        head_ranking_pdf="results/{run}/stefanik2021/head_ranking.pdf",
        logistic_regression_svg=report(
            "results/{run}/stefanik2021/logistic_regression.svg",
            **about(STEFANIK, "logistic_regression"),
        ),
        logistic_regression_png="results/{run}/stefanik2021/logistic_regression.png",
        logistic_regression_pdf="results/{run}/stefanik2021/logistic_regression.pdf",
        model_view_svg=report(
            "results/{run}/stefanik2021/model_view.svg",
            **about(STEFANIK, "model_view"),
        ),
        model_view_png="results/{run}/stefanik2021/model_view.png",
        model_view_pdf="results/{run}/stefanik2021/model_view.pdf",
    log:
        "results/{run}/logs/stefanik2021/figures.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/figures.tsv"
    group:
        "stefanik2021_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=figure_settings,
        code=script_digest("stefanik2021_figures.py"),
    script:
        "../scripts/stefanik2021_figures.py"


rule stefanik2021_tagging_figures:
    input:
        fine_tuning="results/{run}/stefanik2021/fine_tuning.tsv",
        ablation="results/{run}/stefanik2021/ablation.tsv",
        cumulative_ablation="results/{run}/stefanik2021/cumulative_ablation.tsv",
        baselines="results/{run}/stefanik2021/baselines.tsv",
    output:
        fine_tuning_svg=report(
            "results/{run}/stefanik2021/fine_tuning.svg",
            **about(STEFANIK, "fine_tuning"),
        ),
        fine_tuning_png="results/{run}/stefanik2021/fine_tuning.png",
        fine_tuning_pdf="results/{run}/stefanik2021/fine_tuning.pdf",
        ablation_svg=report(
            "results/{run}/stefanik2021/ablation.svg", **about(STEFANIK, "ablation")
        ),
        ablation_png="results/{run}/stefanik2021/ablation.png",
        ablation_pdf="results/{run}/stefanik2021/ablation.pdf",
        cumulative_ablation_svg=report(
            "results/{run}/stefanik2021/cumulative_ablation.svg",
            **about(STEFANIK, "cumulative_ablation"),
        ),
        cumulative_ablation_png="results/{run}/stefanik2021/cumulative_ablation.png",
        cumulative_ablation_pdf="results/{run}/stefanik2021/cumulative_ablation.pdf",
        baselines_svg=report(
            "results/{run}/stefanik2021/baselines.svg", **about(STEFANIK, "baselines")
        ),
        baselines_png="results/{run}/stefanik2021/baselines.png",
        baselines_pdf="results/{run}/stefanik2021/baselines.pdf",
    log:
        "results/{run}/logs/stefanik2021/tagging_figures.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/tagging_figures.tsv"
    group:
        "stefanik2021_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=tagging_settings,
        code=script_digest("stefanik2021_figures.py"),
    script:
        "../scripts/stefanik2021_figures.py"


rule stefanik2021_comparison:
    input:
        relative_attention="results/{run}/stefanik2021/relative_attention.tsv",
        head_ranking="results/{run}/stefanik2021/head_ranking.tsv",
        logistic_regression="results/{run}/stefanik2021/logistic_regression.tsv",
        detectors="results/{run}/stefanik2021/detectors.tsv",
        fine_tuning="results/{run}/stefanik2021/fine_tuning.tsv",
        ablation="results/{run}/stefanik2021/ablation.tsv",
        baselines="results/{run}/stefanik2021/baselines.tsv",
    output:
        tsv="results/{run}/stefanik2021/comparison.tsv",
        html=report(
            "results/{run}/stefanik2021/comparison.html",
            **about(STEFANIK, "comparison"),
        ),
        claims="results/{run}/stefanik2021/claims.tsv",
        claims_html=report(
            "results/{run}/stefanik2021/claims.html", **about(STEFANIK, "claims")
        ),
    log:
        "results/{run}/logs/stefanik2021/comparison.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/comparison.tsv"
    group:
        "stefanik2021_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(STEFANIK, "documents"),
        tagging=tagging_setting,
        code=script_digest("stefanik2021_comparison.py", "published/stefanik2021.yaml"),
    script:
        "../scripts/stefanik2021_comparison.py"


rule stefanik2021_documents:
    input:
        example_files(STEFANIK, stefanik2021_examples),
    output:
        tsv="results/{run}/stefanik2021/documents.tsv",
        html=report(
            "results/{run}/stefanik2021/documents.html", **about(STEFANIK, "documents")
        ),
    log:
        "results/{run}/logs/stefanik2021/documents.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/documents.tsv"
    group:
        "stefanik2021_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        corpora=shards_by_corpus(STEFANIK, stefanik2021_examples),
        line=run_title,
        code=script_digest("stefanik2021_documents.py"),
    script:
        "../scripts/stefanik2021_documents.py"


rule stefanik2021_dropped:
    input:
        example_files(STEFANIK, stefanik2021_examples),
    output:
        tsv="results/{run}/stefanik2021/dropped.tsv",
        html=report(
            "results/{run}/stefanik2021/dropped.html", **about(STEFANIK, "dropped")
        ),
    log:
        "results/{run}/logs/stefanik2021/dropped.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/dropped.tsv"
    group:
        "stefanik2021_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        corpora=shards_by_corpus(STEFANIK, stefanik2021_examples),
        line=run_title,
        title="Štefánik: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"
