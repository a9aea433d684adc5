# Kovaleva et al. (2019), Revealing the Dark Secrets of BERT. Input: a pre-trained model and models fine-tuned on tasks of GLUE,
# examples of those tasks, sentences with frames. Output: results/{run}/kovaleva2019, see workflow/resources/artifacts.yaml.

KOVALEVA = "kovaleva2019"
MEASURED, MEASURED_FILES = task_part("measured")
ABLATED, ABLATED_FILES = task_part("ablated")
DISABLED = by_task_and_seed("results/{run}/kovaleva2019/disabled/{task}-{seed}.parquet")
MEASURES = by_task_and_seed(
    "results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors"
)
PREDICTIONS = by_task("results/{run}/kovaleva2019/predictions/{task}.parquet")


rule kovaleva2019_predictions:
    input:
        card=base_model_card,
        examples=task_examples,
        weights=task_weights,
    output:
        "results/{run}/kovaleva2019/predictions/{task}.parquet",
    log:
        "results/{run}/logs/kovaleva2019/predictions/{task}.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/predictions/{task}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: task_threads(lambda shape: 4)
    resources:
        mem_mb=task_memory,
        runtime=minutes(240),
        gpu=gpus,
    params:
        base=base_model_entry,
        members=task_members,
        limit=task_limit,
        regression=is_regression,
        head_seeds=settings(KOVALEVA, "head_seeds"),
        code=script_digest("kovaleva2019_predictions.py"),
    script:
        "../scripts/kovaleva2019_predictions.py"


rule kovaleva2019_table1:
    input:
        flat(PREDICTIONS),
    output:
        tsv="results/{run}/kovaleva2019/table1.tsv",
        html=report(
            "results/{run}/kovaleva2019/table1.html", **about(KOVALEVA, "table1")
        ),
    log:
        "results/{run}/logs/kovaleva2019/table1.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/table1.tsv"
    group:
        "kovaleva2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(30),
    params:
        files=PREDICTIONS,
        settings=task_settings,
        resamples=settings(KOVALEVA, "resamples"),
        seed=settings(KOVALEVA, "seed"),
        code=script_digest("kovaleva2019_table1.py", "published/kovaleva2019.yaml"),
    script:
        "../scripts/kovaleva2019_table1.py"


rule kovaleva2019_patterns:
    input:
        card=patterns_card,
        tokenizer=patterns_tokenizer,
    output:
        network="results/{run}/kovaleva2019/patterns/network.safetensors",
        thresholds="results/{run}/kovaleva2019/patterns/thresholds.json",
        tsv="results/{run}/kovaleva2019/patterns.tsv",
        html=report(
            "results/{run}/kovaleva2019/patterns.html", **about(KOVALEVA, "patterns")
        ),
        labelling="results/{run}/kovaleva2019/labelling.html",
    log:
        "results/{run}/logs/kovaleva2019/patterns.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/patterns.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(60),
        gpu=gpus,
    params:
        model=patterns_entry,
        settings=settings(KOVALEVA, "patterns"),
        resamples=settings(KOVALEVA, "resamples"),
        seed=settings(KOVALEVA, "seed"),
        line=run_title,
        code=script_digest(
            "kovaleva2019_patterns.py",
            "kovaleva2019/annotated_maps.csv",
            "kovaleva2019/annotated_texts.jsonl",
        ),
    script:
        "../scripts/kovaleva2019_patterns.py"


rule kovaleva2019_measures:
    input:
        card=base_model_card,
        examples=MEASURED_FILES,
        weights=tuned_weights,
        network="results/{run}/kovaleva2019/patterns/network.safetensors",
        thresholds="results/{run}/kovaleva2019/patterns/thresholds.json",
    output:
        "results/{run}/kovaleva2019/measures/{task}-{seed}.safetensors",
    log:
        "results/{run}/logs/kovaleva2019/measures/{task}-{seed}.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/measures/{task}-{seed}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: task_threads(lambda shape: 8)
    resources:
        mem_mb=measures_memory,
        runtime=minutes(240),
        gpu=gpus,
    params:
        base=base_model_entry,
        tuned=tuned_entry,
        limit=MEASURED,
        padded=settings(KOVALEVA, "padded"),
        tagger=settings(KOVALEVA, "tagger"),
        code=script_digest("kovaleva2019_measures.py"),
    script:
        "../scripts/kovaleva2019_measures.py"


rule kovaleva2019_changes:
    input:
        flat(MEASURES),
    output:
        classes="results/{run}/kovaleva2019/figure2.tsv",
        head_classes="results/{run}/kovaleva2019/head_classes.tsv",
        cosine="results/{run}/kovaleva2019/figure5.tsv",
        special="results/{run}/kovaleva2019/figure6.tsv",
        first_row="results/{run}/kovaleva2019/figure7.tsv",
        features="results/{run}/kovaleva2019/features.tsv",
        features_html=report(
            "results/{run}/kovaleva2019/features.html", **about(KOVALEVA, "features")
        ),
        options="results/{run}/kovaleva2019/options.tsv",
        options_html=report(
            "results/{run}/kovaleva2019/options.html", **about(KOVALEVA, "options")
        ),
    log:
        "results/{run}/logs/kovaleva2019/changes.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/changes.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=changes_memory,
        runtime=minutes(30),
    params:
        files=MEASURES,
        settings=task_settings,
        resamples=settings(KOVALEVA, "resamples"),
        seed=settings(KOVALEVA, "seed"),
        code=script_digest("kovaleva2019_changes.py"),
    script:
        "../scripts/kovaleva2019_changes.py"


rule kovaleva2019_disabled:
    input:
        card=base_model_card,
        examples=ABLATED_FILES,
        weights=tuned_weights,
    output:
        "results/{run}/kovaleva2019/disabled/{task}-{seed}.parquet",
    log:
        "results/{run}/logs/kovaleva2019/disabled/{task}-{seed}.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/disabled/{task}-{seed}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: task_threads(lambda shape: shape.layers * shape.heads / 2)
    resources:
        mem_mb=task_memory,
        runtime=minutes(1440),
        gpu=gpus,
    params:
        model=tuned_entry,
        limit=ABLATED,
        regression=is_regression,
        actions=disabling_actions,
        code=script_digest("kovaleva2019_disabled.py"),
    script:
        "../scripts/kovaleva2019_disabled.py"


rule kovaleva2019_disabling:
    input:
        flat(DISABLED),
    output:
        single="results/{run}/kovaleva2019/ablation.tsv",
        heads="results/{run}/kovaleva2019/figure8.tsv",
        layers="results/{run}/kovaleva2019/figure9.tsv",
        tsv="results/{run}/kovaleva2019/disabling.tsv",
        html=report(
            "results/{run}/kovaleva2019/disabling.html", **about(KOVALEVA, "disabling")
        ),
    log:
        "results/{run}/logs/kovaleva2019/disabling.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/disabling.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(120),
    params:
        files=DISABLED,
        settings=task_settings,
        resamples=settings(KOVALEVA, "resamples"),
        seed=settings(KOVALEVA, "seed"),
        code=script_digest("kovaleva2019_disabling.py"),
    script:
        "../scripts/kovaleva2019_disabling.py"


rule kovaleva2019_frames:
    input:
        shards=shards_of(KOVALEVA, "frames"),
        descriptions=shards_of(KOVALEVA, "frames", suffix="json"),
        examples=shards_of(KOVALEVA, "frames", "examples", "parquet"),
    output:
        tsv="results/{run}/kovaleva2019/figure3.tsv",
        options="results/{run}/kovaleva2019/frame_options.tsv",
        options_html=report(
            "results/{run}/kovaleva2019/frame_options.html",
            **about(KOVALEVA, "frame_options"),
        ),
        drawn="results/{run}/kovaleva2019/figure4.tsv",
    log:
        "results/{run}/logs/kovaleva2019/frames.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/frames.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=maps_memory(KOVALEVA, "frames", 8 * 24),
        runtime=minutes(30),
    params:
        limit=limit_for(KOVALEVA, "frames"),
        pairing=settings(KOVALEVA, "pairing"),
        direction=settings(KOVALEVA, "direction"),
        resamples=settings(KOVALEVA, "resamples"),
        seed=settings(KOVALEVA, "seed"),
        setting=setting_for(KOVALEVA, "frames"),
        code=script_digest("kovaleva2019_frames.py"),
    script:
        "../scripts/kovaleva2019_frames.py"


rule kovaleva2019_drawn:
    input:
        card=base_model_card,
        examples=drawn_examples,
        weights=drawn_weights,
        network="results/{run}/kovaleva2019/patterns/network.safetensors",
        thresholds="results/{run}/kovaleva2019/patterns/thresholds.json",
    output:
        "results/{run}/kovaleva2019/figure1.tsv",
    log:
        "results/{run}/logs/kovaleva2019/drawn.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/drawn.tsv"
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(30),
        gpu=gpus,
    params:
        model=drawn_entry,
        limit=drawn_limit,
        task=first_pair_task,
        seed=settings(KOVALEVA, "seed"),
        code=script_digest("kovaleva2019_drawn.py"),
    script:
        "../scripts/kovaleva2019_drawn.py"


rule kovaleva2019_figure1:
    input:
        "results/{run}/kovaleva2019/figure1.tsv",
    output:
        svg=report(
            "results/{run}/kovaleva2019/figure1.svg", **about(KOVALEVA, "figure1")
        ),
        png="results/{run}/kovaleva2019/figure1.png",
        pdf="results/{run}/kovaleva2019/figure1.pdf",
    log:
        "results/{run}/logs/kovaleva2019/figure1.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/figure1.tsv"
    group:
        "kovaleva2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=drawn_setting,
        code=script_digest("kovaleva2019_figure1.py"),
    script:
        "../scripts/kovaleva2019_figure1.py"


rule kovaleva2019_figure3:
    input:
        "results/{run}/kovaleva2019/figure3.tsv",
    output:
        svg=report(
            "results/{run}/kovaleva2019/figure3.svg", **about(KOVALEVA, "figure3")
        ),
        png="results/{run}/kovaleva2019/figure3.png",
        pdf="results/{run}/kovaleva2019/figure3.pdf",
    log:
        "results/{run}/logs/kovaleva2019/figure3.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/figure3.tsv"
    group:
        "kovaleva2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        direction=settings(KOVALEVA, "direction"),
        pairing=settings(KOVALEVA, "pairing"),
        setting=setting_for(KOVALEVA, "frames"),
        code=script_digest("kovaleva2019_figure3.py"),
    script:
        "../scripts/kovaleva2019_figure3.py"


rule kovaleva2019_figure4:
    input:
        "results/{run}/kovaleva2019/figure4.tsv",
    output:
        svg=report(
            "results/{run}/kovaleva2019/figure4.svg", **about(KOVALEVA, "figure4")
        ),
        png="results/{run}/kovaleva2019/figure4.png",
        pdf="results/{run}/kovaleva2019/figure4.pdf",
    log:
        "results/{run}/logs/kovaleva2019/figure4.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/figure4.tsv"
    group:
        "kovaleva2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        setting=setting_for(KOVALEVA, "frames"),
        code=script_digest("kovaleva2019_figure4.py"),
    script:
        "../scripts/kovaleva2019_figure4.py"


rule kovaleva2019_figure2:
    input:
        classes="results/{run}/kovaleva2019/figure2.tsv",
        patterns="results/{run}/kovaleva2019/patterns.tsv",
    output:
        svg=report(
            "results/{run}/kovaleva2019/figure2.svg", **about(KOVALEVA, "figure2")
        ),
        png="results/{run}/kovaleva2019/figure2.png",
        pdf="results/{run}/kovaleva2019/figure2.pdf",
    log:
        "results/{run}/logs/kovaleva2019/figure2.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/figure2.tsv"
    group:
        "kovaleva2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=task_settings,
        code=script_digest("kovaleva2019_figure2.py"),
    script:
        "../scripts/kovaleva2019_figure2.py"


rule kovaleva2019_grids:
    input:
        figure5="results/{run}/kovaleva2019/figure5.tsv",
        figure6="results/{run}/kovaleva2019/figure6.tsv",
        figure7="results/{run}/kovaleva2019/figure7.tsv",
        figure8="results/{run}/kovaleva2019/figure8.tsv",
        figure9="results/{run}/kovaleva2019/figure9.tsv",
    output:
        figure5_svg=report(
            "results/{run}/kovaleva2019/figure5.svg", **about(KOVALEVA, "figure5")
        ),
        figure5_png="results/{run}/kovaleva2019/figure5.png",
        figure5_pdf="results/{run}/kovaleva2019/figure5.pdf",
        figure6_svg=report(
            "results/{run}/kovaleva2019/figure6.svg", **about(KOVALEVA, "figure6")
        ),
        figure6_png="results/{run}/kovaleva2019/figure6.png",
        figure6_pdf="results/{run}/kovaleva2019/figure6.pdf",
        figure7_svg=report(
            "results/{run}/kovaleva2019/figure7.svg", **about(KOVALEVA, "figure7")
        ),
        figure7_png="results/{run}/kovaleva2019/figure7.png",
        figure7_pdf="results/{run}/kovaleva2019/figure7.pdf",
        figure8_svg=report(
            "results/{run}/kovaleva2019/figure8.svg", **about(KOVALEVA, "figure8")
        ),
        figure8_png="results/{run}/kovaleva2019/figure8.png",
        figure8_pdf="results/{run}/kovaleva2019/figure8.pdf",
        figure9_svg=report(
            "results/{run}/kovaleva2019/figure9.svg", **about(KOVALEVA, "figure9")
        ),
        figure9_png="results/{run}/kovaleva2019/figure9.png",
        figure9_pdf="results/{run}/kovaleva2019/figure9.pdf",
    log:
        "results/{run}/logs/kovaleva2019/grids.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/grids.tsv"
    group:
        "kovaleva2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=task_settings,
        code=script_digest("kovaleva2019_grids.py"),
    script:
        "../scripts/kovaleva2019_grids.py"


rule kovaleva2019_dropped:
    input:
        example_files(KOVALEVA, kovaleva2019_examples),
    output:
        tsv="results/{run}/kovaleva2019/dropped.tsv",
        html=report(
            "results/{run}/kovaleva2019/dropped.html", **about(KOVALEVA, "dropped")
        ),
    log:
        "results/{run}/logs/kovaleva2019/dropped.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/dropped.tsv"
    group:
        "kovaleva2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        corpora=shards_by_corpus(KOVALEVA, kovaleva2019_examples),
        line=run_title,
        title="Kovaleva et al. 2019: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"


rule kovaleva2019_comparison:
    input:
        table1="results/{run}/kovaleva2019/table1.tsv",
        figure2="results/{run}/kovaleva2019/figure2.tsv",
        figure5="results/{run}/kovaleva2019/figure5.tsv",
        figure6="results/{run}/kovaleva2019/figure6.tsv",
        figure7="results/{run}/kovaleva2019/figure7.tsv",
        figure8="results/{run}/kovaleva2019/figure8.tsv",
        figure9="results/{run}/kovaleva2019/figure9.tsv",
        features="results/{run}/kovaleva2019/features.tsv",
        disabling="results/{run}/kovaleva2019/disabling.tsv",
        patterns="results/{run}/kovaleva2019/patterns.tsv",
        figure3=frame_table,
    output:
        tsv="results/{run}/kovaleva2019/comparison.tsv",
        html=report(
            "results/{run}/kovaleva2019/comparison.html",
            **about(KOVALEVA, "comparison"),
        ),
        digitised="results/{run}/kovaleva2019/digitised.tsv",
        digitised_html=report(
            "results/{run}/kovaleva2019/digitised.html", **about(KOVALEVA, "digitised")
        ),
        claims="results/{run}/kovaleva2019/claims.tsv",
        claims_html=report(
            "results/{run}/kovaleva2019/claims.html", **about(KOVALEVA, "claims")
        ),
    log:
        "results/{run}/logs/kovaleva2019/comparison.log",
    benchmark:
        "results/{run}/benchmarks/kovaleva2019/comparison.tsv"
    group:
        "kovaleva2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(30),
    params:
        settings=compared_task_settings,
        recipe=kovaleva2019_recipe,
        code=script_digest(
            "kovaleva2019_comparison.py",
            "published/kovaleva2019.yaml",
            "published/digitised/fig3_framenet.csv",
            "published/digitised/fig5_cosine.csv",
            "published/digitised/fig6_sep_cls.csv",
            "published/digitised/fig8_disable_head.csv",
        ),
    script:
        "../scripts/kovaleva2019_comparison.py"
