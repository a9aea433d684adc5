# Guan et al. (2020), How Far Does BERT Look At. Input: attention caches of questions on passages, and models that answer them.
# Output: results/{run}/guan2020, see workflow/resources/artifacts.yaml.

GUAN = "guan2020"


rule guan2020_features:
    input:
        shards=sampled("safetensors"),
        descriptions=sampled("json"),
        examples=sampled("parquet", "examples"),
        card="results/{run}/models/{model}/card.json",
    output:
        "results/{run}/guan2020/features/{model}/{corpus}.safetensors",
    log:
        "results/{run}/logs/guan2020/features/{model}/{corpus}.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/features/{model}/{corpus}.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=feature_memory,
        runtime=minutes(60),
    params:
        samples=settings(GUAN, "samples"),
        code=script_digest("guan2020_features.py"),
    script:
        "../scripts/guan2020_features.py"


rule guan2020_clustering:
    input:
        features=own_features,
    output:
        types="results/{run}/guan2020/head_types.tsv",
        plane="results/{run}/guan2020/figure2.tsv",
        layers="results/{run}/guan2020/figure3.tsv",
        summary="results/{run}/guan2020/types_summary.tsv",
        agreement="results/{run}/guan2020/agreement.tsv",
        html=report("results/{run}/guan2020/agreement.html", **about(GUAN, "agreement")),
    log:
        "results/{run}/logs/guan2020/clustering.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/clustering.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(30),
    params:
        options=settings(GUAN, "features"),
        method=settings(GUAN, "method"),
        fits=settings(GUAN, "fits"),
        perplexity=settings(GUAN, "perplexity"),
        seed=settings(GUAN, "seed"),
        setting=setting_for(GUAN, "questions"),
        code=script_digest("guan2020_clustering.py"),
    script:
        "../scripts/guan2020_clustering.py"


rule guan2020_maps:
    input:
        shards=first_shard_of(GUAN, "questions"),
        descriptions=first_shard_of(GUAN, "questions", suffix="json"),
        types="results/{run}/guan2020/head_types.tsv",
    output:
        maps="results/{run}/guan2020/figure1.tsv",
        grid="results/{run}/guan2020/figure5.tsv",
    log:
        "results/{run}/logs/guan2020/maps.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/maps.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(GUAN, "questions"),
        runtime=minutes(10),
    params:
        limit=feature_limit(GUAN, "questions"),
        code=script_digest("guan2020_maps.py"),
    script:
        "../scripts/guan2020_maps.py"


rule guan2020_figure1:
    input:
        maps="results/{run}/guan2020/figure1.tsv",
        types="results/{run}/guan2020/head_types.tsv",
        summary="results/{run}/guan2020/types_summary.tsv",
    output:
        svg=report("results/{run}/guan2020/figure1.svg", **about(GUAN, "figure1")),
        png="results/{run}/guan2020/figure1.png",
        pdf="results/{run}/guan2020/figure1.pdf",
    log:
        "results/{run}/logs/guan2020/figure1.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/figure1.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(GUAN, "questions"),
        code=script_digest("guan2020_figure1.py"),
    script:
        "../scripts/guan2020_figure1.py"


rule guan2020_figure2:
    input:
        plane="results/{run}/guan2020/figure2.tsv",
        agreement="results/{run}/guan2020/agreement.tsv",
        summary="results/{run}/guan2020/types_summary.tsv",
    output:
        svg=report("results/{run}/guan2020/figure2.svg", **about(GUAN, "figure2")),
        png="results/{run}/guan2020/figure2.png",
        pdf="results/{run}/guan2020/figure2.pdf",
    log:
        "results/{run}/logs/guan2020/figure2.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/figure2.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(GUAN, "questions"),
        code=script_digest("guan2020_figure2.py"),
    script:
        "../scripts/guan2020_figure2.py"


rule guan2020_figure3:
    input:
        layers="results/{run}/guan2020/figure3.tsv",
        summary="results/{run}/guan2020/types_summary.tsv",
    output:
        svg=report("results/{run}/guan2020/figure3.svg", **about(GUAN, "figure3")),
        png="results/{run}/guan2020/figure3.png",
        pdf="results/{run}/guan2020/figure3.pdf",
    log:
        "results/{run}/logs/guan2020/figure3.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/figure3.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(GUAN, "questions"),
        code=script_digest("guan2020_figure3.py"),
    script:
        "../scripts/guan2020_figure3.py"


rule guan2020_models:
    input:
        types="results/{run}/guan2020/head_types.tsv",
        features=compared_features,
    output:
        tsv="results/{run}/guan2020/figure4.tsv",
    log:
        "results/{run}/logs/guan2020/models.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/models.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        names=compared_names,
        options=settings(GUAN, "features"),
        method=settings(GUAN, "method"),
        seed=settings(GUAN, "seed"),
        code=script_digest("guan2020_models.py"),
    script:
        "../scripts/guan2020_models.py"


rule guan2020_figure4:
    input:
        types="results/{run}/guan2020/figure4.tsv",
    output:
        svg=report("results/{run}/guan2020/figure4.svg", **about(GUAN, "figure4")),
        png="results/{run}/guan2020/figure4.png",
        pdf="results/{run}/guan2020/figure4.pdf",
    log:
        "results/{run}/logs/guan2020/figure4.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/figure4.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=compared_models_settings,
        code=script_digest("guan2020_figure4.py"),
    script:
        "../scripts/guan2020_figure4.py"


rule guan2020_figure5:
    input:
        grid="results/{run}/guan2020/figure5.tsv",
    output:
        svg=report("results/{run}/guan2020/figure5.svg", **about(GUAN, "figure5")),
        png="results/{run}/guan2020/figure5.png",
        pdf="results/{run}/guan2020/figure5.pdf",
    log:
        "results/{run}/logs/guan2020/figure5.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/figure5.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(GUAN, "questions"),
        code=script_digest("guan2020_figure5.py"),
    script:
        "../scripts/guan2020_figure5.py"


rule guan2020_table1:
    input:
        features=compared_features,
    output:
        tsv="results/{run}/guan2020/table1.tsv",
        html=report("results/{run}/guan2020/table1.html", **about(GUAN, "table1")),
    log:
        "results/{run}/logs/guan2020/table1.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/table1.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(20),
    params:
        names=compared_names,
        options=settings(GUAN, "features"),
        fits=settings(GUAN, "fits"),
        seed=settings(GUAN, "seed"),
        settings=compared_models_settings,
        code=script_digest("guan2020_table1.py", "published/guan2020.yaml"),
    script:
        "../scripts/guan2020_table1.py"


rule guan2020_ablations:
    input:
        card=card_of(GUAN, "questions"),
        types="results/{run}/guan2020/head_types.tsv",
        examples=shard_of(GUAN, "questions", "examples", "parquet"),
    output:
        "results/{run}/guan2020/ablations/shards/{shard}.parquet",
    log:
        "results/{run}/logs/guan2020/ablations/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/ablations/{shard}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: role_threads(GUAN, "questions", lambda shape: 50)
    resources:
        mem_mb=ablation_memory(GUAN, "questions"),
        runtime=minutes(1440),
        gpu=gpus,
    params:
        model=model_of(GUAN),
        limit=limit_for(GUAN, "questions"),
        settings=settings(GUAN, "ablations"),
        seed=settings(GUAN, "seed"),
        code=script_digest("guan2020_ablations.py"),
    script:
        "../scripts/guan2020_ablations.py"


rule guan2020_answers:
    input:
        card=card_of(GUAN, "questions"),
        types="results/{run}/guan2020/head_types.tsv",
        examples=shards_of(GUAN, "questions", "examples", "parquet"),
        answers=of_each_shard(
            GUAN,
            "questions",
            "results/{run}/guan2020/ablations/shards/{shard}.parquet",
        ),
    output:
        answers="results/{run}/guan2020/ablations/answers.parquet",
        heads="results/{run}/guan2020/ablations/heads.tsv",
        baselines="results/{run}/guan2020/ablations/baselines.tsv",
    log:
        "results/{run}/logs/guan2020/answers.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/answers.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=memory(6000),
        runtime=minutes(240),
    params:
        limit=limit_for(GUAN, "questions"),
        settings=settings(GUAN, "ablations"),
        seed=settings(GUAN, "seed"),
        code=script_digest("guan2020_answers.py"),
    script:
        "../scripts/guan2020_answers.py"


rule guan2020_table2:
    input:
        answers="results/{run}/guan2020/ablations/answers.parquet",
        heads="results/{run}/guan2020/ablations/heads.tsv",
        baselines="results/{run}/guan2020/ablations/baselines.tsv",
    output:
        tsv="results/{run}/guan2020/table2.tsv",
        html=report("results/{run}/guan2020/table2.html", **about(GUAN, "table2")),
        baselines="results/{run}/guan2020/baselines.tsv",
        baselines_html=report(
            "results/{run}/guan2020/baselines.html", **about(GUAN, "baselines")
        ),
    log:
        "results/{run}/logs/guan2020/table2.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/table2.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(20),
    params:
        resamples=settings(GUAN, "resamples"),
        seed=settings(GUAN, "seed"),
        setting=setting_for(GUAN, "questions"),
        code=script_digest("guan2020_table2.py", "published/guan2020.yaml"),
    script:
        "../scripts/guan2020_table2.py"


rule guan2020_table3:
    input:
        answers="results/{run}/guan2020/ablations/answers.parquet",
        heads="results/{run}/guan2020/ablations/heads.tsv",
    output:
        tsv="results/{run}/guan2020/table3.tsv",
        html=report("results/{run}/guan2020/table3.html", **about(GUAN, "table3")),
    log:
        "results/{run}/logs/guan2020/table3.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/table3.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(20),
    params:
        resamples=settings(GUAN, "resamples"),
        seed=settings(GUAN, "seed"),
        setting=setting_for(GUAN, "questions"),
        code=script_digest("guan2020_table3.py", "published/guan2020.yaml"),
    script:
        "../scripts/guan2020_table3.py"


rule guan2020_dropped:
    input:
        example_files(GUAN),
    output:
        tsv="results/{run}/guan2020/dropped.tsv",
        html=report("results/{run}/guan2020/dropped.html", **about(GUAN, "dropped")),
    log:
        "results/{run}/logs/guan2020/dropped.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/dropped.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        corpora=shards_by_corpus(GUAN),
        line=run_title,
        title="Guan et al. 2020: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"


rule guan2020_comparison:
    input:
        summary="results/{run}/guan2020/types_summary.tsv",
        types="results/{run}/guan2020/head_types.tsv",
        layers="results/{run}/guan2020/figure3.tsv",
        table1="results/{run}/guan2020/table1.tsv",
        table2="results/{run}/guan2020/table2.tsv",
        table3="results/{run}/guan2020/table3.tsv",
        baselines="results/{run}/guan2020/baselines.tsv",
    output:
        tsv="results/{run}/guan2020/comparison.tsv",
        html=report(
            "results/{run}/guan2020/comparison.html", **about(GUAN, "comparison")
        ),
        claims="results/{run}/guan2020/claims.tsv",
        claims_html=report(
            "results/{run}/guan2020/claims.html", **about(GUAN, "claims")
        ),
    log:
        "results/{run}/logs/guan2020/comparison.log",
    benchmark:
        "results/{run}/benchmarks/guan2020/comparison.tsv"
    group:
        "guan2020_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        fits=settings(GUAN, "fits"),
        setting=setting_for(GUAN, "questions"),
        code=script_digest("guan2020_comparison.py", "published/guan2020.yaml"),
    script:
        "../scripts/guan2020_comparison.py"
