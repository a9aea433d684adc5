# Štefánik, Attention Semantics. Input: documents with keyphrases, attention over them, taggers fine-tuned on them. Output:
# results/{run}/stefanik2021, see studies/stefanik2021/study.py.

from attention_atlas.workflow.inputs.stefanik2021 import Stefanik2021Inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import memory, minutes

stefanik2021 = Stefanik2021Inputs(config)


rule stefanik2021_words:
    input:
        attention=stefanik2021.shards("documents"),
        examples=stefanik2021.examples("documents"),
    output:
        "results/{run}/stefanik2021/words.parquet",
    log:
        "results/{run}/logs/stefanik2021/words.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/words.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=stefanik2021.memory("words"),
        runtime=minutes(60),
    params:
        limit=stefanik2021.limit("documents"),
        diagonal=stefanik2021.settings("diagonal"),
        code=script_digest("stefanik2021_words.py"),
    script:
        "../scripts/stefanik2021_words.py"


rule stefanik2021_detection:
    input:
        words="results/{run}/stefanik2021/words.parquet",
        card=stefanik2021.card("documents"),
    output:
        relative_attention="results/{run}/stefanik2021/relative_attention.tsv",
        head_ranking="results/{run}/stefanik2021/head_ranking.tsv",
        logistic_regression="results/{run}/stefanik2021/logistic_regression.tsv",
        detectors="results/{run}/stefanik2021/detectors.tsv",
        head_ranking_html="results/{run}/stefanik2021/head_ranking.html",
        logistic_regression_html="results/{run}/stefanik2021/logistic_regression.html",
        detectors_html=report(
            "results/{run}/stefanik2021/detectors.html",
            **stefanik2021.about("detectors"),
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
        setting=stefanik2021.label("documents"),
        way=stefanik2021.settings("way"),
        fit=stefanik2021.fit_settings,
        resamples=stefanik2021.settings("resamples"),
        code=script_digest("stefanik2021_detection.py"),
    script:
        "../scripts/stefanik2021_detection.py"


rule stefanik2021_removal:
    input:
        card="results/{run}/models/{model}/card.json",
        development=stefanik2021.examples("development"),
        test=stefanik2021.examples("test"),
    output:
        "results/{run}/stefanik2021/removals/{model}.parquet",
    log:
        "results/{run}/logs/stefanik2021/removal/{model}.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/removal/{model}.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=stefanik2021.memory("removal"),
        runtime=minutes(1440),
        gpu=stefanik2021.gpus("removal"),
    params:
        model=stefanik2021.model_entry,
        limits=stefanik2021.split_limits,
        step=stefanik2021.settings("step"),
        draws=stefanik2021.settings("random_orders"),
        seed=stefanik2021.settings("seed"),
        code=script_digest("stefanik2021_removal.py"),
    script:
        "../scripts/stefanik2021_removal.py"


rule stefanik2021_removal_tables:
    input:
        stefanik2021.removal_files,
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
        files=stefanik2021.removals_by_seed,
        setting=stefanik2021.tagging_label,
        resamples=stefanik2021.settings("resamples"),
        seed=stefanik2021.settings("seed"),
        code=script_digest("stefanik2021_removal_tables.py"),
    script:
        "../scripts/stefanik2021_removal_tables.py"


rule stefanik2021_baselines:
    input:
        development=stefanik2021.examples("development"),
        test=stefanik2021.examples("test"),
        scores="results/{run}/stefanik2021/scores.parquet",
        removals=stefanik2021.removal_files,
        card=stefanik2021.card("documents"),
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
        gpu=stefanik2021.gpus("baselines"),
    params:
        limits=stefanik2021.split_limits,
        removals=stefanik2021.removals_by_seed,
        model=stefanik2021.model(),
        longest=stefanik2021.settings("longest"),
        setting=stefanik2021.label("test"),
        resamples=stefanik2021.settings("resamples"),
        seed=stefanik2021.settings("seed"),
        code=script_digest("stefanik2021_baselines.py"),
    script:
        "../scripts/stefanik2021_baselines.py"


rule stefanik2021_views:
    input:
        card=stefanik2021.card("documents"),
        tokenizer=stefanik2021.tokenizer("documents"),
    output:
        model_view=report(
            "results/{run}/stefanik2021/model_view.html",
            **stefanik2021.about("model_view"),
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
        mem_mb=stefanik2021.memory("views"),
        runtime=minutes(60),
    params:
        model=stefanik2021.model(),
        pairs=stefanik2021.settings("pairs"),
        run=stefanik2021.run_title,
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
            **stefanik2021.about("relative_attention"),
        ),
        relative_attention_png="results/{run}/stefanik2021/relative_attention.png",
        relative_attention_pdf="results/{run}/stefanik2021/relative_attention.pdf",
        head_ranking_svg=report(
            "results/{run}/stefanik2021/head_ranking.svg",
            **stefanik2021.about("head_ranking"),
        ),
        head_ranking_png="results/{run}/stefanik2021/head_ranking.png",
        head_ranking_pdf="results/{run}/stefanik2021/head_ranking.pdf",
        logistic_regression_svg=report(
            "results/{run}/stefanik2021/logistic_regression.svg",
            **stefanik2021.about("logistic_regression"),
        ),
        logistic_regression_png="results/{run}/stefanik2021/logistic_regression.png",
        logistic_regression_pdf="results/{run}/stefanik2021/logistic_regression.pdf",
        model_view_svg=report(
            "results/{run}/stefanik2021/model_view.svg",
            **stefanik2021.about("model_view"),
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
        settings=stefanik2021.figure_labels,
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
            **stefanik2021.about("fine_tuning"),
        ),
        fine_tuning_png="results/{run}/stefanik2021/fine_tuning.png",
        fine_tuning_pdf="results/{run}/stefanik2021/fine_tuning.pdf",
        ablation_svg=report(
            "results/{run}/stefanik2021/ablation.svg", **stefanik2021.about("ablation")
        ),
        ablation_png="results/{run}/stefanik2021/ablation.png",
        ablation_pdf="results/{run}/stefanik2021/ablation.pdf",
        cumulative_ablation_svg=report(
            "results/{run}/stefanik2021/cumulative_ablation.svg",
            **stefanik2021.about("cumulative_ablation"),
        ),
        cumulative_ablation_png="results/{run}/stefanik2021/cumulative_ablation.png",
        cumulative_ablation_pdf="results/{run}/stefanik2021/cumulative_ablation.pdf",
        baselines_svg=report(
            "results/{run}/stefanik2021/baselines.svg",
            **stefanik2021.about("baselines"),
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
        settings=stefanik2021.tagging_labels,
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
            **stefanik2021.about("comparison"),
        ),
        claims="results/{run}/stefanik2021/claims.tsv",
        claims_html=report(
            "results/{run}/stefanik2021/claims.html", **stefanik2021.about("claims")
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
        setting=stefanik2021.label("documents"),
        tagging=stefanik2021.tagging_label,
        code=script_digest("stefanik2021_comparison.py", "published/stefanik2021.yaml"),
    script:
        "../scripts/stefanik2021_comparison.py"


rule stefanik2021_documents:
    input:
        stefanik2021.example_files,
    output:
        tsv="results/{run}/stefanik2021/documents.tsv",
        html=report(
            "results/{run}/stefanik2021/documents.html",
            **stefanik2021.about("documents"),
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
        corpora=stefanik2021.shards_by_corpus,
        line=stefanik2021.run_title,
        code=script_digest("stefanik2021_documents.py"),
    script:
        "../scripts/stefanik2021_documents.py"


rule stefanik2021_dropped:
    input:
        stefanik2021.example_files,
    output:
        tsv="results/{run}/stefanik2021/dropped.tsv",
        html=report(
            "results/{run}/stefanik2021/dropped.html", **stefanik2021.about("dropped")
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
        corpora=stefanik2021.shards_by_corpus,
        line=stefanik2021.run_title,
        title="Štefánik: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"
