"""Tables and figures of Tenney et al. (2019) that are rendered from tables."""

from __future__ import annotations

from attention_atlas.workflow.page import Page, dropped_page, tables

_TASKS = {"labels": ("task_labels",)}
_RECIPES = {"recipes": ("task_recipes",)}
_BOOTSTRAP = {"resamples": ("settings", "resamples"), "seed": ("settings", "seed")}


_OF_SECOND = {"figure1": "tasks", "figure2": "layers", "options": "options", "mixing_weights": "mixing_weights"}
"""Tables that published values name -> tables of the second model."""
_SUMMARIES = ("probe_scores", "mixing_weights", "tasks", "layers", "ends", "order", "options")

_PUBLISHED = ("published/tenney2019.csv",)


def _summary(folder: str) -> dict[str, str]:
    """Outputs of `summary.summarise` in a folder."""
    tables_of_model = {f"outputs__{name}": f"{folder}/{name}.tsv" for name in _SUMMARIES}
    return tables_of_model | {"outputs__resamples": f"{folder}/resamples.parquet"}


def _table(name: str, path: str) -> Page:
    """The page of a table that it copies."""
    return Page(
        rule=f"tenney2019_{name}",
        function=f"studies.tenney2019.{name}:{name}_page",
        inputs={"path": path},
        outputs={"html_out": f"{name}.html"},
        copies={f"{name}.tsv": "path"},
        params=_TASKS,
        resources=_PUBLISHED,
    )


PAGES = (
    Page(
        rule="tenney2019_summary",
        grouped=False,
        function="studies.tenney2019.summary:summarise",
        outputs=_summary("summary"),
        params={
            "model": ("model_of_study",),
            "tasks": ("edge_tables",),
            "evaluated": ("evaluated_corpora",),
            **_RECIPES,
            **_BOOTSTRAP,
        },
        reads=(
            ("edge_files", "scores.tsv"),
            ("edge_files", "weights.tsv"),
            ("edge_files", "counts.parquet"),
            ("random_edge_files",),
            ("evaluated_files",),
        ),
        megabytes=4000,
        minutes=60,
    ),
    Page(
        rule="tenney2019_second_summary",
        grouped=False,
        function="studies.tenney2019.summary:summarise",
        outputs=_summary("second_model"),
        params={"model": ("second_model",), "tasks": ("second_tables",), **_RECIPES, **_BOOTSTRAP},
        reads=(("second_files",),),
        megabytes=4000,
        minutes=60,
    ),
    Page(
        rule="tenney2019_traces",
        grouped=False,
        function="studies.tenney2019.traces:traced_sentences",
        inputs={"cases": ("edge_files", "cases.tsv")},
        outputs={"out": "traces.tsv"},
        params={"sentences": ("settings", "sentences")},
        megabytes=4000,
        minutes=60,
    ),
    Page(
        rule="tenney2019_figure1",
        function="studies.tenney2019.figure1:figure1",
        inputs={"path": "summary/tasks.tsv"},
        copies={"figure1.tsv": "path"},
        pictures="figure1",
        params=_TASKS,
        resources=_PUBLISHED,
    ),
    Page(
        rule="tenney2019_figure2",
        function="studies.tenney2019.figure2:figure2",
        inputs={"path": "summary/layers.tsv"},
        copies={"figure2.tsv": "path"},
        pictures="figure2",
        params=_TASKS,
        resources=_PUBLISHED,
    ),
    Page(
        rule="tenney2019_figure3",
        function="studies.tenney2019.figure3:figure3",
        inputs={"path": "traces.tsv"},
        copies={"figure3.tsv": "path"},
        pictures="figure3",
        params=_TASKS,
    ),
    Page(
        rule="tenney2019_figure_a3",
        function="studies.tenney2019.figure_a3:figure_a3",
        inputs={"second": "second_model/layers.tsv", "first": "summary/layers.tsv"},
        outputs={"out": "figure_a3.tsv"},
        pictures="figure_a3",
        params=_TASKS,
        resources=_PUBLISHED,
    ),
    _table("controls", "summary/ends.tsv"),
    Page(
        rule="tenney2019_order",
        function="studies.tenney2019.order:order_page",
        inputs={"path": "summary/order.tsv"},
        outputs={"out": "order.tsv", "html_out": "order.html"},
        params=_TASKS,
        resources=_PUBLISHED,
    ),
    _table("options", "summary/options.tsv"),
    Page(
        rule="tenney2019_comparison",
        function="studies.tenney2019.comparison:comparison",
        inputs=tables("figure1", "figure2", "controls", "order", "options")
        | {"tables__mixing_weights": "summary/mixing_weights.tsv", "resamples": "summary/resamples.parquet"}
        | {f"second__{name}": ("table_if", "second_model", f"second_model/{file}.tsv") for name, file in _OF_SECOND.items()},
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params=_TASKS | _RECIPES | {"second_labels": ("second_labels",)},
        resources=_PUBLISHED,
    ),
    dropped_page("tenney2019", "Tenney et al. 2019: dropped sentences, by reason"),
)
