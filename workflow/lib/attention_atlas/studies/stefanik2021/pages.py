"""Tables and figures of Štefánik's study that are rendered from tables."""

from __future__ import annotations

from attention_atlas.workflow.page import Page, PageValue, dropped_page, tables


def _figure(name: str, label: PageValue) -> Page:
    """A figure of the table with its name, drawn by the module with its name."""
    return Page(
        rule=f"stefanik2021_{name}_figure",
        function=f"studies.stefanik2021.figures.{name}:{name}",
        inputs={"path": f"{name}.tsv"},
        pictures=name,
        params={"label": label},
    )


_DOCUMENTS = ("label", "documents")
_TAGGING = ("tagging_label",)
PAGES = (
    _figure("relative_attention", _DOCUMENTS),
    _figure("head_ranking", _DOCUMENTS),
    _figure("logistic_regression", _DOCUMENTS),
    _figure("model_view", ("pairs_label",)),
    Page(
        rule="stefanik2021_removal_tables",
        grouped=False,
        function="studies.stefanik2021.removal_tables:removal_tables",
        outputs={
            "fine_tuning_out": "fine_tuning.tsv",
            "fine_tuning_html": "fine_tuning.html",
            "ablation_out": "ablation.tsv",
            "ablation_html": "ablation.html",
            "cumulative_out": "cumulative_ablation.tsv",
            "cumulative_html": "cumulative_ablation.html",
        },
        params={
            "files": ("removals_by_seed",),
            "label": _TAGGING,
            "resamples": ("settings", "resamples"),
            "seed": ("settings", "seed"),
        },
        reads=(("removal_files",),),
        megabytes=4000,
        minutes=60,
    ),
    _figure("fine_tuning", _TAGGING),
    _figure("ablation", _TAGGING),
    _figure("cumulative_ablation", _TAGGING),
    _figure("baselines", ("label", "test")),
    Page(
        rule="stefanik2021_comparison",
        function="studies.stefanik2021.comparison:comparison",
        inputs=tables(
            "relative_attention", "head_ranking", "logistic_regression", "detectors", "fine_tuning", "ablation", "baselines"
        ),
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params={"label": _DOCUMENTS, "tagging": _TAGGING},
        resources=("published/stefanik2021.csv",),
    ),
    Page(
        rule="stefanik2021_documents",
        function="studies.stefanik2021.documents:write_documents",
        outputs={"out": "documents.tsv", "html_out": "documents.html"},
        params={"corpora": ("shards_by_corpus",), "line": ("run_title",)},
        reads=(("example_files",),),
    ),
    dropped_page("stefanik2021", "Štefánik: what was left out"),
)
