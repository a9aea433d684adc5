# Michel et al. (2019), Are Sixteen Heads Really Better than One? Input: a translation model and sentences with translations, a model
# fine-tuned on a task and its examples. Output: results/{run}/michel2019, see workflow/resources/artifacts.yaml.

MICHEL = "michel2019"
MASKED = each_experiment("results/{run}/michel2019/masked/{experiment}.parquet")
MASKED_OTHER = each_experiment(
    "results/{run}/michel2019/masked/{experiment}_other.parquet"
)
PRUNED = each_experiment("results/{run}/michel2019/pruned/{experiment}.parquet")
DERIVATIVES = each_experiment("results/{run}/michel2019/gradients/{experiment}.parquet")


wildcard_constraints:
    experiment=one_of(EXPERIMENTS),


rule michel2019_masked:
    input:
        card=of_experiment(card_of),
        tokenizer=of_experiment(tokenizer_of),
        examples=of_experiment(examples_of),
        other=of_experiment(examples_of, "_other"),
    output:
        own="results/{run}/michel2019/masked/{experiment}.parquet",
        other="results/{run}/michel2019/masked/{experiment}_other.parquet",
    log:
        "results/{run}/logs/michel2019/masked/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/masked/{experiment}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: experiment_threads
    resources:
        mem_mb=experiment_memory,
        runtime=minutes(1440),
        gpu=gpus,
    params:
        model=of_experiment(role_model_of),
        limit=of_experiment(limit_for),
        other_limit=of_experiment(limit_for, "_other"),
        search=search_settings,
        code=script_digest("michel2019_masked.py"),
    script:
        "../scripts/michel2019_masked.py"


rule michel2019_pruned:
    input:
        card=of_experiment(card_of),
        tokenizer=of_experiment(tokenizer_of),
        examples=of_experiment(examples_of),
        weighed=of_experiment(weighed, "_importance"),
        masked="results/{run}/michel2019/masked/{experiment}.parquet",
    output:
        gradients="results/{run}/michel2019/gradients/{experiment}.parquet",
        answers="results/{run}/michel2019/pruned/{experiment}.parquet",
    log:
        "results/{run}/logs/michel2019/pruned/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/pruned/{experiment}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: experiment_threads
    resources:
        mem_mb=experiment_memory,
        runtime=minutes(1440),
        gpu=gpus,
    params:
        model=of_experiment(role_model_of),
        limit=of_experiment(limit_for),
        weighed_limit=of_experiment(weighed_limit, "_importance"),
        settings=pruning_settings,
        search=search_settings,
        seed=settings(MICHEL, "seed"),
        code=script_digest("michel2019_pruned.py"),
    script:
        "../scripts/michel2019_pruned.py"


rule michel2019_ablation:
    input:
        masked=flat(MASKED),
        other=flat(MASKED_OTHER),
    output:
        table1="results/{run}/michel2019/table1.tsv",
        table2="results/{run}/michel2019/table2.tsv",
        table3="results/{run}/michel2019/table3.tsv",
        table1_html=report(
            "results/{run}/michel2019/table1.html", **about(MICHEL, "table1")
        ),
        table2_html=report(
            "results/{run}/michel2019/table2.html", **about(MICHEL, "table2")
        ),
        table3_html=report(
            "results/{run}/michel2019/table3.html", **about(MICHEL, "table3")
        ),
        figure1="results/{run}/michel2019/figure1.tsv",
        figure2="results/{run}/michel2019/figure2.tsv",
        correlations="results/{run}/michel2019/correlations.tsv",
        correlations_html=report(
            "results/{run}/michel2019/correlations.html",
            **about(MICHEL, "correlations"),
        ),
    log:
        "results/{run}/logs/michel2019/ablation.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/ablation.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(120),
    params:
        masked=MASKED,
        other=MASKED_OTHER,
        settings=settings_by_role(MICHEL, *EXPERIMENTS),
        all_settings=settings_by_role(MICHEL, *ROLES_OF_FIGURE2),
        extremes=settings(MICHEL, "extremes"),
        resamples=settings(MICHEL, "resamples"),
        seed=settings(MICHEL, "seed"),
        code=script_digest("michel2019_ablation.py", "published/michel2019.yaml"),
    script:
        "../scripts/michel2019_ablation.py"


rule michel2019_curves:
    input:
        pruned=flat(PRUNED),
        gradients=flat(DERIVATIVES),
    output:
        importance="results/{run}/michel2019/head_importance.tsv",
        importance_html=report(
            "results/{run}/michel2019/head_importance.html",
            **about(MICHEL, "head_importance"),
        ),
        figure3="results/{run}/michel2019/figure3.tsv",
        pruning="results/{run}/michel2019/pruning.tsv",
        pruning_html=report(
            "results/{run}/michel2019/pruning.html", **about(MICHEL, "pruning")
        ),
        figure4="results/{run}/michel2019/figure4.tsv",
    log:
        "results/{run}/logs/michel2019/curves.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/curves.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(120),
    params:
        pruned=PRUNED,
        gradients=DERIVATIVES,
        models=experiment_models,
        settings=settings_by_role(MICHEL, *EXPERIMENTS),
        weighed=settings_by_role(MICHEL, *WEIGHED_ROLES),
        batch=settings(MICHEL, "importance", "batch"),
        resamples=settings(MICHEL, "resamples"),
        seed=settings(MICHEL, "seed"),
        code=script_digest("michel2019_curves.py"),
    script:
        "../scripts/michel2019_curves.py"


rule michel2019_figures:
    input:
        figure1="results/{run}/michel2019/figure1.tsv",
        figure2="results/{run}/michel2019/figure2.tsv",
        figure3="results/{run}/michel2019/figure3.tsv",
        figure4="results/{run}/michel2019/figure4.tsv",
        correlations="results/{run}/michel2019/correlations.tsv",
    output:
        figure1_svg=report(
            "results/{run}/michel2019/figure1.svg", **about(MICHEL, "figure1")
        ),
        figure1_png="results/{run}/michel2019/figure1.png",
        figure1_pdf="results/{run}/michel2019/figure1.pdf",
        figure2_svg=report(
            "results/{run}/michel2019/figure2.svg", **about(MICHEL, "figure2")
        ),
        figure2_png="results/{run}/michel2019/figure2.png",
        figure2_pdf="results/{run}/michel2019/figure2.pdf",
        figure3_svg=report(
            "results/{run}/michel2019/figure3.svg", **about(MICHEL, "figure3")
        ),
        figure3_png="results/{run}/michel2019/figure3.png",
        figure3_pdf="results/{run}/michel2019/figure3.pdf",
        figure4_svg=report(
            "results/{run}/michel2019/figure4.svg", **about(MICHEL, "figure4")
        ),
        figure4_png="results/{run}/michel2019/figure4.png",
        figure4_pdf="results/{run}/michel2019/figure4.pdf",
    log:
        "results/{run}/logs/michel2019/figures.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/figures.tsv"
    group:
        "michel2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=settings_by_role(MICHEL, *ROLES_OF_FIGURE2),
        code=script_digest("michel2019_figures.py"),
    script:
        "../scripts/michel2019_figures.py"


rule michel2019_dynamics:
    input:
        card=card_of(MICHEL, "dynamics"),
        tokenizer=tokenizer_of(MICHEL, "dynamics"),
        epochs=trained_epochs,
        examples=examples_of(MICHEL, "dynamics"),
        weighed=weighed(MICHEL, "dynamics_importance"),
    output:
        "results/{run}/michel2019/dynamics.parquet",
    log:
        "results/{run}/logs/michel2019/dynamics.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/dynamics.tsv"
    conda:
        "../../envs/model.yaml"
    threads: role_threads(MICHEL, "dynamics", masks_a_head)
    resources:
        mem_mb=dynamics_memory,
        runtime=minutes(1440),
        gpu=gpus,
    params:
        model=role_model_of(MICHEL, "dynamics"),
        limit=limit_for(MICHEL, "dynamics"),
        weighed_limit=weighed_limit(MICHEL, "dynamics_importance"),
        settings=pruning_settings,
        search=search_settings,
        code=script_digest("michel2019_dynamics.py"),
    script:
        "../scripts/michel2019_dynamics.py"


rule michel2019_figure5:
    input:
        "results/{run}/michel2019/dynamics.parquet",
    output:
        tsv="results/{run}/michel2019/figure5.tsv",
        svg=report("results/{run}/michel2019/figure5.svg", **about(MICHEL, "figure5")),
        png="results/{run}/michel2019/figure5.png",
        pdf="results/{run}/michel2019/figure5.pdf",
    log:
        "results/{run}/logs/michel2019/figure5.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/figure5.tsv"
    group:
        "michel2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(2000),
        runtime=minutes(60),
    params:
        setting=setting_for(MICHEL, "dynamics"),
        resamples=settings(MICHEL, "resamples"),
        seed=settings(MICHEL, "seed"),
        code=script_digest("michel2019_figure5.py"),
    script:
        "../scripts/michel2019_figure5.py"


rule michel2019_table4:
    input:
        card=card_of(MICHEL, "classification"),
        examples=examples_of(MICHEL, "classification"),
        importance="results/{run}/michel2019/head_importance.tsv",
    output:
        tsv="results/{run}/michel2019/table4.tsv",
        html=report("results/{run}/michel2019/table4.html", **about(MICHEL, "table4")),
    log:
        "results/{run}/logs/michel2019/table4.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/table4.tsv"
    conda:
        "../../envs/model.yaml"
    threads: role_threads(MICHEL, "classification", masks_a_head)
    resources:
        mem_mb=speed_memory,
        runtime=minutes(240),
        gpu=gpus,
    params:
        model=role_model_of(MICHEL, "classification"),
        limit=limit_for(MICHEL, "classification"),
        definition=settings(MICHEL, "importance", "definition"),
        settings=settings(MICHEL, "speed"),
        setting=setting_for(MICHEL, "classification"),
        code=script_digest("michel2019_table4.py", "published/michel2019.yaml"),
    script:
        "../scripts/michel2019_table4.py"


rule michel2019_comparison:
    input:
        table1="results/{run}/michel2019/table1.tsv",
        table2="results/{run}/michel2019/table2.tsv",
        table3="results/{run}/michel2019/table3.tsv",
        correlations="results/{run}/michel2019/correlations.tsv",
        pruning="results/{run}/michel2019/pruning.tsv",
        figure3="results/{run}/michel2019/figure3.tsv",
        figure4="results/{run}/michel2019/figure4.tsv",
        importance="results/{run}/michel2019/head_importance.tsv",
        figure5=dynamics_table,
    output:
        tsv="results/{run}/michel2019/comparison.tsv",
        html=report(
            "results/{run}/michel2019/comparison.html", **about(MICHEL, "comparison")
        ),
        claims="results/{run}/michel2019/claims.tsv",
        claims_html=report(
            "results/{run}/michel2019/claims.html", **about(MICHEL, "claims")
        ),
    log:
        "results/{run}/logs/michel2019/comparison.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/comparison.tsv"
    group:
        "michel2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=settings_by_role(MICHEL, *ROLES_OF_FIGURE2),
        definition=settings(MICHEL, "importance", "definition"),
        code=script_digest("michel2019_comparison.py", "published/michel2019.yaml"),
    script:
        "../scripts/michel2019_comparison.py"


rule michel2019_dropped:
    input:
        example_files(MICHEL, michel2019_pairs),
    output:
        tsv="results/{run}/michel2019/dropped.tsv",
        html=report("results/{run}/michel2019/dropped.html", **about(MICHEL, "dropped")),
    log:
        "results/{run}/logs/michel2019/dropped.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/dropped.tsv"
    group:
        "michel2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        corpora=shards_by_corpus(MICHEL, michel2019_pairs),
        line=run_title,
        title="Michel et al. 2019: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"
