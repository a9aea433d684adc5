"""Tables and figures of Štefánik's study that are rendered from tables."""

from __future__ import annotations

from dataclasses import replace

from attention_atlas.workflow.page import Page, PageValue, dropped_page, tables

_PUBLISHED = ("published/stefanik2021.csv",)


def _table(name: str, module: str, source: str, label: PageValue, **params: PageValue) -> Page:
    """The page of a table that it copies."""
    return Page(
        rule=f"stefanik2021_{name}",
        function=f"studies.stefanik2021.{module}:{name}",
        inputs={"path": source},
        outputs={"html_out": f"{name}.html"},
        copies={f"{name}.tsv": "path"},
        params={"label": label, **params},
        resources=_PUBLISHED,
    )


_PUBLISHED = ("published/stefanik2021.csv",)


def _figure(name: str, label: PageValue, resources: tuple[str, ...] = ()) -> Page:
    """A figure of the table and the module of the same name; `resources` are published values beside ours."""
    return Page(
        rule=f"stefanik2021_{name}_figure",
        function=f"studies.stefanik2021.figures.{name}:{name}",
        inputs={"path": f"{name}.tsv"},
        pictures=name,
        params={"label": label},
        resources=resources,
    )


_DOCUMENTS = ("label", "documents")
_TAGGING = ("tagging_label",)
PAGES = (
    replace(
        _figure("relative_attention", _DOCUMENTS),
        inputs={"path": "detection/relative_attention.tsv"},
        copies={"relative_attention.tsv": "path"},
    ),
    _table("head_ranking", "detection_pages", "detection/head_ranking.tsv", _DOCUMENTS, reduction=("settings", "reduction")),
    _table("logistic_regression", "detection_pages", "detection/logistic_regression.tsv", _DOCUMENTS),
    Page(
        rule="stefanik2021_detectors",
        function="studies.stefanik2021.detection_pages:detectors",
        inputs={"path": "detection/detectors.tsv", "ranking_path": "detection/head_ranking.tsv"},
        outputs={"html_out": "detectors.html"},
        copies={"detectors.tsv": "path"},
        params={"label": _DOCUMENTS},
    ),
    _figure("head_ranking", _DOCUMENTS),
    _figure("logistic_regression", _DOCUMENTS),
    _figure("model_view", ("pairs_label",)),
    Page(
        rule="stefanik2021_removal_tables",
        grouped=False,
        function="studies.stefanik2021.removal_tables:removal_tables",
        outputs={
            "fine_tuning_out": "removal_tables/fine_tuning.tsv",
            "ablation_out": "removal_tables/ablation.tsv",
            "cumulative_out": "removal_tables/cumulative_ablation.tsv",
        },
        params={
            "files": ("removals_by_seed",),
            "resamples": ("settings", "resamples"),
            "seed": ("settings", "seed"),
        },
        reads=(("removal_files",),),
        megabytes=4000,
        minutes=60,
    ),
    _table("fine_tuning", "removal_pages", "removal_tables/fine_tuning.tsv", _TAGGING),
    *(
        replace(
            _table(name, "removal_pages", f"removal_tables/{name}.tsv", _TAGGING),
            inputs={"path": f"removal_tables/{name}.tsv", "fine_tuning_path": "removal_tables/fine_tuning.tsv"},
        )
        for name in ("ablation", "cumulative_ablation")
    ),
    _figure("fine_tuning", _TAGGING, _PUBLISHED),
    *(
        replace(_figure(name, _TAGGING), inputs={"path": f"{name}.tsv", "fine_tuning_path": "fine_tuning.tsv"})
        for name in ("ablation", "cumulative_ablation")
    ),
    replace(
        _figure("baselines", ("label", "test"), _PUBLISHED),
        params={"label": ("label", "test"), "same_encoder": ("encoder_is_model",)},
    ),
    Page(
        rule="stefanik2021_comparison",
        function="studies.stefanik2021.comparison:comparison",
        inputs=tables("relative_attention", "head_ranking", "detectors", "fine_tuning", "ablation", "baselines")
        | {"tables__rank_correlations": "detection/rank_correlations.tsv"},
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params={"label": _DOCUMENTS, "tagging": _TAGGING},
        resources=_PUBLISHED,
    ),
    Page(
        rule="stefanik2021_documents",
        function="studies.stefanik2021.documents:write_documents",
        outputs={"out": "documents.tsv", "html_out": "documents.html"},
        params={"corpora": ("shards_by_corpus",), "line": ("run_title",)},
        reads=(("example_files",),),
    ),
    dropped_page("stefanik2021", "Štefánik: dropped documents, by reason"),
)
