# Input: hidden states and targets of eight tasks. Output: probes of all layers, and the tables and figures of Tenney et al. (2019).

TENNEY = "tenney2019"


rule tenney2019_probes:
    input:
        probed_files,
    output:
        scores="results/{run}/tenney2019/probes/{model}/{edge_tasks}.scores.tsv",
        weights="results/{run}/tenney2019/probes/{model}/{edge_tasks}.weights.tsv",
        counts="results/{run}/tenney2019/probes/{model}/{edge_tasks}.counts.parquet",
        cases="results/{run}/tenney2019/probes/{model}/{edge_tasks}.cases.tsv",
    log:
        "results/{run}/logs/tenney2019/probes/{model}/{edge_tasks}.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/probes/{model}/{edge_tasks}.tsv"
    wildcard_constraints:
        edge_tasks="[a-z-]+",
    conda:
        "../../envs/model.yaml"
    resources:
        mem_mb=edge_probe_memory,
        runtime=minutes(1440),
        gpu=gpus,
    params:
        tasks=probed_tasks,
        plan=probe_plan,
        code=script_digest("tenney2019_probes.py"),
    script:
        "../scripts/tenney2019_probes.py"


rule tenney2019_summary:
    input:
        scores=edge_files("scores.tsv"),
        weights=edge_files("weights.tsv"),
        counts=edge_files("counts.parquet"),
        cases=edge_files("cases.tsv"),
        random=random_edge_files,
    output:
        probe_scores="results/{run}/tenney2019/probe_scores.tsv",
        mixing_weights="results/{run}/tenney2019/mixing_weights.tsv",
        figure1="results/{run}/tenney2019/figure1.tsv",
        figure2="results/{run}/tenney2019/figure2.tsv",
        figure3="results/{run}/tenney2019/figure3.tsv",
        table1="results/{run}/tenney2019/table1.tsv",
        table1_html=report(
            "results/{run}/tenney2019/table1.html", **about(TENNEY, "table1")
        ),
        order="results/{run}/tenney2019/order.tsv",
        order_html=report(
            "results/{run}/tenney2019/order.html", **about(TENNEY, "order")
        ),
        options="results/{run}/tenney2019/options.tsv",
        options_html=report(
            "results/{run}/tenney2019/options.html", **about(TENNEY, "options")
        ),
    log:
        "results/{run}/logs/tenney2019/summary.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/summary.tsv"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(60),
    params:
        model=study_model_name(TENNEY),
        tasks=edge_tables,
        settings=settings_by_task,
        sentences=settings(TENNEY, "sentences"),
        resamples=settings(TENNEY, "resamples"),
        seed=settings(TENNEY, "seed"),
        code=script_digest("tenney2019_summary.py"),
    script:
        "../scripts/tenney2019_summary.py"


rule tenney2019_figures:
    input:
        figure1="results/{run}/tenney2019/figure1.tsv",
        figure2="results/{run}/tenney2019/figure2.tsv",
        figure3="results/{run}/tenney2019/figure3.tsv",
    output:
        figure1_svg=report(
            "results/{run}/tenney2019/figure1.svg", **about(TENNEY, "figure1")
        ),
        figure1_png="results/{run}/tenney2019/figure1.png",
        figure1_pdf="results/{run}/tenney2019/figure1.pdf",
        figure2_svg=report(
            "results/{run}/tenney2019/figure2.svg", **about(TENNEY, "figure2")
        ),
        figure2_png="results/{run}/tenney2019/figure2.png",
        figure2_pdf="results/{run}/tenney2019/figure2.pdf",
        figure3_svg=report(
            "results/{run}/tenney2019/figure3.svg", **about(TENNEY, "figure3")
        ),
        figure3_png="results/{run}/tenney2019/figure3.png",
        figure3_pdf="results/{run}/tenney2019/figure3.pdf",
    log:
        "results/{run}/logs/tenney2019/figures.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/figures.tsv"
    group:
        "tenney2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=settings_by_task,
        code=script_digest("tenney2019_figures.py"),
    script:
        "../scripts/tenney2019_figures.py"


rule tenney2019_figure_a3:
    input:
        both_models_files,
    output:
        tsv="results/{run}/tenney2019/figure_a3.tsv",
        svg=report(
            "results/{run}/tenney2019/figure_a3.svg", **about(TENNEY, "figure_a3")
        ),
        png="results/{run}/tenney2019/figure_a3.png",
        pdf="results/{run}/tenney2019/figure_a3.pdf",
    log:
        "results/{run}/logs/tenney2019/figure_a3.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/figure_a3.tsv"
    group:
        "tenney2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(4000),
        runtime=minutes(60),
    params:
        models=both_models,
        settings=settings_by_task,
        resamples=settings(TENNEY, "resamples"),
        seed=settings(TENNEY, "seed"),
        code=script_digest("tenney2019_figure_a3.py"),
    script:
        "../scripts/tenney2019_figure_a3.py"


rule tenney2019_comparison:
    input:
        figure1="results/{run}/tenney2019/figure1.tsv",
        figure2="results/{run}/tenney2019/figure2.tsv",
        table1="results/{run}/tenney2019/table1.tsv",
        order="results/{run}/tenney2019/order.tsv",
        options="results/{run}/tenney2019/options.tsv",
        weights="results/{run}/tenney2019/mixing_weights.tsv",
    output:
        tsv="results/{run}/tenney2019/comparison.tsv",
        html=report(
            "results/{run}/tenney2019/comparison.html", **about(TENNEY, "comparison")
        ),
        claims="results/{run}/tenney2019/claims.tsv",
        claims_html=report(
            "results/{run}/tenney2019/claims.html", **about(TENNEY, "claims")
        ),
    log:
        "results/{run}/logs/tenney2019/comparison.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/comparison.tsv"
    group:
        "tenney2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        settings=settings_by_task,
        code=script_digest("tenney2019_comparison.py", "published/tenney2019.yaml"),
    script:
        "../scripts/tenney2019_comparison.py"


rule tenney2019_dropped:
    input:
        example_files(TENNEY, tenney2019_pairs),
    output:
        tsv="results/{run}/tenney2019/dropped.tsv",
        html=report("results/{run}/tenney2019/dropped.html", **about(TENNEY, "dropped")),
    log:
        "results/{run}/logs/tenney2019/dropped.log",
    benchmark:
        "results/{run}/benchmarks/tenney2019/dropped.tsv"
    group:
        "tenney2019_pages"
    conda:
        "../../envs/analysis.yaml"
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        corpora=shards_by_corpus(TENNEY, tenney2019_pairs),
        line=run_title,
        title="Tenney et al. 2019: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"
