# Michel et al. (2019), Are Sixteen Heads Really Better than One? Input: a translation model and sentences with translations, a model
# fine-tuned on a task and its examples. Output: results/{run}/michel2019, see studies/michel2019/study.py.

from attention_atlas.studies.michel2019.study import EXPERIMENTS
from attention_atlas.workflow.inputs.michel2019 import (
    ROLES_OF_FIGURE2,
    SCORED_ROLES,
    Michel2019Inputs,
)
from attention_atlas.workflow.names import one_of
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.resources import memory, minutes

michel2019 = Michel2019Inputs(config)


wildcard_constraints:
    experiment=one_of(EXPERIMENTS),


rule michel2019_masked:
    input:
        card=michel2019.of_experiment(michel2019.card),
        tokenizer=michel2019.of_experiment(michel2019.tokenizer),
        examples=michel2019.of_experiment(michel2019.examples),
        other=michel2019.of_experiment(michel2019.examples, "_other"),
    output:
        own="results/{run}/michel2019/masked/{experiment}.parquet",
        other="results/{run}/michel2019/masked/{experiment}_other.parquet",
    log:
        "results/{run}/logs/michel2019/masked/{experiment}.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/masked/{experiment}.tsv"
    conda:
        "../../envs/model.yaml"
    threads: michel2019.threads("masked")
    resources:
        mem_mb=michel2019.memory("masked"),
        runtime=minutes(1440),
        gpu=michel2019.gpus("masked"),
    params:
        model=michel2019.of_experiment(michel2019.model),
        limit=michel2019.of_experiment(michel2019.limit),
        other_limit=michel2019.of_experiment(michel2019.limit, "_other"),
        search=michel2019.search_settings,
        code=script_digest("michel2019_masked.py"),
    script:
        "../scripts/michel2019_masked.py"


rule michel2019_pruned:
    input:
        card=michel2019.of_experiment(michel2019.card),
        tokenizer=michel2019.of_experiment(michel2019.tokenizer),
        examples=michel2019.of_experiment(michel2019.examples),
        weighed=michel2019.of_experiment(michel2019.scored_examples, "_importance"),
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
    threads: michel2019.threads("pruned")
    resources:
        mem_mb=michel2019.memory("pruned"),
        runtime=minutes(1440),
        gpu=michel2019.gpus("pruned"),
    params:
        model=michel2019.of_experiment(michel2019.model),
        limit=michel2019.of_experiment(michel2019.limit),
        weighed_limit=michel2019.of_experiment(michel2019.scored_limit, "_importance"),
        settings=michel2019.pruning_settings,
        search=michel2019.search_settings,
        seed=michel2019.settings("seed"),
        code=script_digest("michel2019_pruned.py"),
    script:
        "../scripts/michel2019_pruned.py"


rule michel2019_ablation:
    input:
        masked=michel2019.files_of_experiments("masked/{experiment}.parquet"),
        other=michel2019.files_of_experiments("masked/{experiment}_other.parquet"),
    output:
        table1="results/{run}/michel2019/table1.tsv",
        table2="results/{run}/michel2019/table2.tsv",
        table3="results/{run}/michel2019/table3.tsv",
        table1_html=report(
            "results/{run}/michel2019/table1.html", **michel2019.about("table1")
        ),
        table2_html=report(
            "results/{run}/michel2019/table2.html", **michel2019.about("table2")
        ),
        table3_html=report(
            "results/{run}/michel2019/table3.html", **michel2019.about("table3")
        ),
        figure1="results/{run}/michel2019/figure1.tsv",
        figure2="results/{run}/michel2019/figure2.tsv",
        correlations="results/{run}/michel2019/correlations.tsv",
        correlations_html=report(
            "results/{run}/michel2019/correlations.html",
            **michel2019.about("correlations"),
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
        masked=michel2019.each_experiment("masked/{experiment}.parquet"),
        other=michel2019.each_experiment("masked/{experiment}_other.parquet"),
        settings=michel2019.labels(*EXPERIMENTS),
        all_settings=michel2019.labels(*ROLES_OF_FIGURE2),
        extremes=michel2019.settings("extremes"),
        resamples=michel2019.settings("resamples"),
        seed=michel2019.settings("seed"),
        code=script_digest("michel2019_ablation.py", "published/michel2019.yaml"),
    script:
        "../scripts/michel2019_ablation.py"


rule michel2019_curves:
    input:
        pruned=michel2019.files_of_experiments("pruned/{experiment}.parquet"),
        gradients=michel2019.files_of_experiments("gradients/{experiment}.parquet"),
    output:
        importance="results/{run}/michel2019/head_importance.tsv",
        importance_html=report(
            "results/{run}/michel2019/head_importance.html",
            **michel2019.about("head_importance"),
        ),
        figure3="results/{run}/michel2019/figure3.tsv",
        pruning="results/{run}/michel2019/pruning.tsv",
        pruning_html=report(
            "results/{run}/michel2019/pruning.html", **michel2019.about("pruning")
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
        pruned=michel2019.each_experiment("pruned/{experiment}.parquet"),
        gradients=michel2019.each_experiment("gradients/{experiment}.parquet"),
        models=michel2019.experiment_models,
        settings=michel2019.labels(*EXPERIMENTS),
        weighed=michel2019.labels(*SCORED_ROLES),
        batch=michel2019.settings("importance", "batch"),
        resamples=michel2019.settings("resamples"),
        seed=michel2019.settings("seed"),
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
            "results/{run}/michel2019/figure1.svg", **michel2019.about("figure1")
        ),
        figure1_png="results/{run}/michel2019/figure1.png",
        figure1_pdf="results/{run}/michel2019/figure1.pdf",
        figure2_svg=report(
            "results/{run}/michel2019/figure2.svg", **michel2019.about("figure2")
        ),
        figure2_png="results/{run}/michel2019/figure2.png",
        figure2_pdf="results/{run}/michel2019/figure2.pdf",
        figure3_svg=report(
            "results/{run}/michel2019/figure3.svg", **michel2019.about("figure3")
        ),
        figure3_png="results/{run}/michel2019/figure3.png",
        figure3_pdf="results/{run}/michel2019/figure3.pdf",
        figure4_svg=report(
            "results/{run}/michel2019/figure4.svg", **michel2019.about("figure4")
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
        settings=michel2019.labels(*ROLES_OF_FIGURE2),
        code=script_digest("michel2019_figures.py"),
    script:
        "../scripts/michel2019_figures.py"


rule michel2019_dynamics:
    input:
        card=michel2019.card("dynamics"),
        tokenizer=michel2019.tokenizer("dynamics"),
        epochs=michel2019.trained_epochs,
        examples=michel2019.examples("dynamics"),
        weighed=michel2019.scored_examples("dynamics_importance"),
    output:
        "results/{run}/michel2019/dynamics.parquet",
    log:
        "results/{run}/logs/michel2019/dynamics.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/dynamics.tsv"
    conda:
        "../../envs/model.yaml"
    threads: michel2019.threads("dynamics")
    resources:
        mem_mb=michel2019.memory("dynamics"),
        runtime=minutes(1440),
        gpu=michel2019.gpus("dynamics"),
    params:
        model=michel2019.model("dynamics"),
        limit=michel2019.limit("dynamics"),
        weighed_limit=michel2019.scored_limit("dynamics_importance"),
        settings=michel2019.pruning_settings,
        search=michel2019.search_settings,
        code=script_digest("michel2019_dynamics.py"),
    script:
        "../scripts/michel2019_dynamics.py"


rule michel2019_figure5:
    input:
        "results/{run}/michel2019/dynamics.parquet",
    output:
        tsv="results/{run}/michel2019/figure5.tsv",
        svg=report(
            "results/{run}/michel2019/figure5.svg", **michel2019.about("figure5")
        ),
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
        setting=michel2019.label("dynamics"),
        resamples=michel2019.settings("resamples"),
        seed=michel2019.settings("seed"),
        code=script_digest("michel2019_figure5.py"),
    script:
        "../scripts/michel2019_figure5.py"


rule michel2019_table4:
    input:
        card=michel2019.card("classification"),
        examples=michel2019.examples("classification"),
        importance="results/{run}/michel2019/head_importance.tsv",
    output:
        tsv="results/{run}/michel2019/table4.tsv",
        html=report(
            "results/{run}/michel2019/table4.html", **michel2019.about("table4")
        ),
    log:
        "results/{run}/logs/michel2019/table4.log",
    benchmark:
        "results/{run}/benchmarks/michel2019/table4.tsv"
    conda:
        "../../envs/model.yaml"
    threads: michel2019.threads("table4")
    resources:
        mem_mb=michel2019.memory("table4"),
        runtime=minutes(240),
        gpu=michel2019.gpus("table4"),
    params:
        model=michel2019.model("classification"),
        limit=michel2019.limit("classification"),
        definition=michel2019.settings("importance", "definition"),
        settings=michel2019.settings("speed"),
        setting=michel2019.label("classification"),
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
        figure5=michel2019.dynamics_table,
    output:
        tsv="results/{run}/michel2019/comparison.tsv",
        html=report(
            "results/{run}/michel2019/comparison.html",
            **michel2019.about("comparison"),
        ),
        claims="results/{run}/michel2019/claims.tsv",
        claims_html=report(
            "results/{run}/michel2019/claims.html", **michel2019.about("claims")
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
        settings=michel2019.labels(*ROLES_OF_FIGURE2),
        definition=michel2019.settings("importance", "definition"),
        code=script_digest("michel2019_comparison.py", "published/michel2019.yaml"),
    script:
        "../scripts/michel2019_comparison.py"


rule michel2019_dropped:
    input:
        michel2019.example_files,
    output:
        tsv="results/{run}/michel2019/dropped.tsv",
        html=report(
            "results/{run}/michel2019/dropped.html", **michel2019.about("dropped")
        ),
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
        corpora=michel2019.shards_by_corpus,
        line=michel2019.run_title,
        title="Michel et al. 2019: what was left out",
        code=script_digest("dropped.py"),
    script:
        "../scripts/dropped.py"
