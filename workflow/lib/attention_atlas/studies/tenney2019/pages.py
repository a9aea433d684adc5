"""Tables and figures of Tenney et al. (2019) that are rendered from tables."""

from __future__ import annotations

from attention_atlas.workflow.page import Page, dropped_page, tables

_TASKS = {"labels": ("task_labels",)}
_BOOTSTRAP = {"resamples": ("settings", "resamples"), "seed": ("settings", "seed")}
PAGES = (
    Page(
        rule="tenney2019_summary",
        grouped=False,
        function="studies.tenney2019.summary:summarise",
        outputs={
            "probe_scores_out": "probe_scores.tsv",
            "mixing_weights_out": "mixing_weights.tsv",
            "figure1_out": "figure1.tsv",
            "figure2_out": "figure2.tsv",
            "table1_out": "table1.tsv",
            "table1_html": "table1.html",
            "order_out": "order.tsv",
            "order_html": "order.html",
            "options_out": "options.tsv",
            "options_html": "options.html",
        },
        params={"model": ("model_of_study",), "tasks": ("edge_tables",), **_TASKS, **_BOOTSTRAP},
        reads=(
            ("edge_files", "scores.tsv"),
            ("edge_files", "weights.tsv"),
            ("edge_files", "counts.parquet"),
            ("random_edge_files",),
        ),
        megabytes=4000,
        minutes=60,
    ),
    Page(
        rule="tenney2019_traces",
        grouped=False,
        function="studies.tenney2019.traces:traced_sentences",
        inputs={"cases": ("edge_files", "cases.tsv")},
        outputs={"out": "figure3.tsv"},
        params={"sentences": ("settings", "sentences")},
        megabytes=4000,
        minutes=60,
    ),
    Page(
        rule="tenney2019_figure1",
        function="studies.tenney2019.figure1:figure1",
        inputs={"path": "figure1.tsv"},
        pictures="figure1",
        params=_TASKS,
    ),
    Page(
        rule="tenney2019_figure2",
        function="studies.tenney2019.figure2:figure2",
        inputs={"path": "figure2.tsv"},
        pictures="figure2",
        params=_TASKS,
    ),
    Page(
        rule="tenney2019_figure3",
        function="studies.tenney2019.figure3:figure3",
        inputs={"path": "figure3.tsv"},
        pictures="figure3",
        params=_TASKS,
    ),
    Page(
        rule="tenney2019_figure_a3",
        function="studies.tenney2019.figure_a3:figure_a3",
        outputs={"out": "figure_a3.tsv"},
        pictures="figure_a3",
        params={"models": ("both_models",), **_TASKS, **_BOOTSTRAP},
        reads=(("both_models_files",),),
        megabytes=4000,
        minutes=60,
    ),
    Page(
        rule="tenney2019_comparison",
        function="studies.tenney2019.comparison:comparison",
        inputs=tables("figure1", "figure2", "table1", "order", "options", "mixing_weights"),
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params=_TASKS,
        resources=("published/tenney2019.csv",),
    ),
    dropped_page("tenney2019", "Tenney et al. 2019: what was left out"),
)
