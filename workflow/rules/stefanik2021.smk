# Štefánik, Attention Semantics. Input: documents with keyphrases, attention over them, taggers fine-tuned on them. Output:
# results/{run}/stefanik2021, see studies/stefanik2021/study.py.

from attention_atlas.workflow.inputs.stefanik2021 import Stefanik2021Inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import gpus, memory, minutes

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
        mem_mb=stefanik2021.map_memory("documents", 4000),
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
        relative_attention="results/{run}/stefanik2021/detection/relative_attention.tsv",
        head_ranking="results/{run}/stefanik2021/detection/head_ranking.tsv",
        logistic_regression="results/{run}/stefanik2021/detection/logistic_regression.tsv",
        detectors="results/{run}/stefanik2021/detection/detectors.tsv",
        rank_correlations="results/{run}/stefanik2021/detection/rank_correlations.tsv",
        scores="results/{run}/stefanik2021/detection/scores.parquet",
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
        reduction=stefanik2021.settings("reduction"),
        fit=stefanik2021.fit_options,
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
        mem_mb=stefanik2021.model_memory(),
        runtime=minutes(1440),
        gpu=gpus(config),
    params:
        model=stefanik2021.model_entry,
        limits=stefanik2021.split_limits,
        step=stefanik2021.settings("step"),
        draws=stefanik2021.settings("random_orders"),
        seed=stefanik2021.settings("seed"),
        code=script_digest("stefanik2021_removal.py"),
    script:
        "../scripts/stefanik2021_removal.py"


rule stefanik2021_baselines:
    input:
        development=stefanik2021.examples("development"),
        test=stefanik2021.examples("test"),
        scores="results/{run}/stefanik2021/detection/scores.parquet",
        removals=stefanik2021.removal_files,
        card=stefanik2021.encoder_card,
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
        gpu=gpus(config),
    params:
        limits=stefanik2021.split_limits,
        removals=stefanik2021.placed(stefanik2021.removals_by_seed),
        encoder=stefanik2021.encoder,
        encoder_entry=stefanik2021.encoder_entry,
        options=stefanik2021.baseline_options,
        label=stefanik2021.label("test"),
        links=stefanik2021.links(html="baselines.html"),
        code=script_digest("stefanik2021_baselines.py"),
    script:
        "../scripts/stefanik2021_baselines.py"


rule stefanik2021_model_view:
    input:
        card=stefanik2021.card("documents"),
        tokenizer=stefanik2021.tokenizer("documents"),
    output:
        tsv="results/{run}/stefanik2021/model_view.tsv",
    log:
        "results/{run}/logs/stefanik2021/model_view.log",
    benchmark:
        "results/{run}/benchmarks/stefanik2021/model_view.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=stefanik2021.model_memory(),
        runtime=minutes(60),
    params:
        model=stefanik2021.model(),
        pairs=stefanik2021.settings("pairs"),
        code=script_digest("stefanik2021_model_view.py"),
    script:
        "../scripts/stefanik2021_model_view.py"
