# Input: hidden states and targets of eight tasks. Output: probes of all layers, and the tables and figures of Tenney et al. (2019).

from attention_atlas.workflow.inputs.tenney2019 import Tenney2019Inputs
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import memory, minutes

tenney2019 = Tenney2019Inputs(config)


rule tenney2019_probes:
    input:
        tenney2019.probed_files,
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
        mem_mb=tenney2019.memory("probes"),
        runtime=minutes(1440),
        gpu=tenney2019.gpus("probes"),
    params:
        tasks=tenney2019.probed_tasks,
        plan=tenney2019.probe_plan,
        code=script_digest("tenney2019_probes.py"),
    script:
        "../scripts/tenney2019_probes.py"


rule tenney2019_summary:
    input:
        scores=tenney2019.edge_files("scores.tsv"),
        weights=tenney2019.edge_files("weights.tsv"),
        counts=tenney2019.edge_files("counts.parquet"),
        cases=tenney2019.edge_files("cases.tsv"),
        random=tenney2019.random_edge_files,
    output:
        probe_scores="results/{run}/tenney2019/probe_scores.tsv",
        mixing_weights="results/{run}/tenney2019/mixing_weights.tsv",
        figure1="results/{run}/tenney2019/figure1.tsv",
        figure2="results/{run}/tenney2019/figure2.tsv",
        figure3="results/{run}/tenney2019/figure3.tsv",
        table1="results/{run}/tenney2019/table1.tsv",
        table1_html=report(
            "results/{run}/tenney2019/table1.html", **tenney2019.about("table1")
        ),
        order="results/{run}/tenney2019/order.tsv",
        order_html=report(
            "results/{run}/tenney2019/order.html", **tenney2019.about("order")
        ),
        options="results/{run}/tenney2019/options.tsv",
        options_html=report(
            "results/{run}/tenney2019/options.html", **tenney2019.about("options")
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
        model=tenney2019.model_name(),
        tasks=tenney2019.edge_tables,
        settings=tenney2019.task_labels,
        sentences=tenney2019.settings("sentences"),
        resamples=tenney2019.settings("resamples"),
        seed=tenney2019.settings("seed"),
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
            "results/{run}/tenney2019/figure1.svg", **tenney2019.about("figure1")
        ),
        figure1_png="results/{run}/tenney2019/figure1.png",
        figure1_pdf="results/{run}/tenney2019/figure1.pdf",
        figure2_svg=report(
            "results/{run}/tenney2019/figure2.svg", **tenney2019.about("figure2")
        ),
        figure2_png="results/{run}/tenney2019/figure2.png",
        figure2_pdf="results/{run}/tenney2019/figure2.pdf",
        figure3_svg=report(
            "results/{run}/tenney2019/figure3.svg", **tenney2019.about("figure3")
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
        settings=tenney2019.task_labels,
        code=script_digest("tenney2019_figures.py"),
    script:
        "../scripts/tenney2019_figures.py"


rule tenney2019_figure_a3:
    input:
        tenney2019.both_models_files,
    output:
        tsv="results/{run}/tenney2019/figure_a3.tsv",
        svg=report(
            "results/{run}/tenney2019/figure_a3.svg", **tenney2019.about("figure_a3")
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
        models=tenney2019.both_models,
        settings=tenney2019.task_labels,
        resamples=tenney2019.settings("resamples"),
        seed=tenney2019.settings("seed"),
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
            "results/{run}/tenney2019/comparison.html",
            **tenney2019.about("comparison"),
        ),
        claims="results/{run}/tenney2019/claims.tsv",
        claims_html=report(
            "results/{run}/tenney2019/claims.html", **tenney2019.about("claims")
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
        settings=tenney2019.task_labels,
        code=script_digest("tenney2019_comparison.py", "published/tenney2019.yaml"),
    script:
        "../scripts/tenney2019_comparison.py"


rule tenney2019_dropped:
    input:
        tenney2019.example_files,
    output:
        tsv="results/{run}/tenney2019/dropped.tsv",
        html=report(
            "results/{run}/tenney2019/dropped.html", **tenney2019.about("dropped")
        ),
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
        corpora=tenney2019.shards_by_corpus,
        line=tenney2019.run_title,
        title="Tenney et al. 2019: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"
