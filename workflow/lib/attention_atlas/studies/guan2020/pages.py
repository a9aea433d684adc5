"""Tables and figures of Guan et al. (2020) that are rendered from tables."""

from __future__ import annotations

from attention_atlas.workflow.page import Page, dropped_page, tables

_PUBLISHED = ("published/guan2020.csv",)
_LABEL = {"label": ("label", "questions")}
_BOOTSTRAP = {"resamples": ("settings", "resamples"), "seed": ("settings", "seed")}
_COMPARED = {"features": ("features_by_model",), "options": ("settings", "features"), "seed": ("settings", "seed")}
"""The compared models; their features are read by way of a parameter."""
PAGES = (
    Page(
        rule="guan2020_figure1",
        function="studies.guan2020.figure1:figure1",
        inputs={"maps_path": "figure1.tsv", "types_path": "head_types.tsv", "summary_path": "types_summary.tsv"},
        pictures="figure1",
        params=_LABEL,
    ),
    Page(
        rule="guan2020_figure2",
        function="studies.guan2020.figure2:figure2",
        inputs={"plane_path": "figure2.tsv", "agreement_path": "agreement.tsv", "summary_path": "types_summary.tsv"},
        pictures="figure2",
        params=_LABEL,
    ),
    Page(
        rule="guan2020_figure3",
        function="studies.guan2020.figure3:figure3",
        inputs={"layers_path": "figure3.tsv", "summary_path": "types_summary.tsv"},
        pictures="figure3",
        params=_LABEL,
    ),
    Page(
        rule="guan2020_models",
        function="studies.guan2020.models_compared:compare_models",
        inputs={"types_path": "head_types.tsv"},
        outputs={"out": "figure4.tsv"},
        params={"method": ("settings", "method"), **_COMPARED},
        reads=(("compared_features",),),
        megabytes=2000,
    ),
    Page(
        rule="guan2020_figure4",
        function="studies.guan2020.figure4:figure4",
        inputs={"path": "figure4.tsv"},
        pictures="figure4",
        params={"labels": ("compared_labels",)},
    ),
    Page(
        rule="guan2020_figure5",
        function="studies.guan2020.figure5:figure5",
        inputs={"path": "figure5.tsv"},
        pictures="figure5",
        params=_LABEL,
    ),
    Page(
        rule="guan2020_table1",
        function="studies.guan2020.table1:table1",
        outputs={"out": "table1.tsv", "html_out": "table1.html"},
        params={"fits": ("settings", "fits"), "labels": ("compared_labels",), **_COMPARED},
        reads=(("compared_features",),),
        resources=_PUBLISHED,
        megabytes=2000,
        minutes=20,
    ),
    Page(
        rule="guan2020_table2",
        function="studies.guan2020.table2:table2",
        inputs={
            "answers_path": "ablations/answers.parquet",
            "heads_path": "ablations/heads.tsv",
            "baselines_path": "ablations/baselines.tsv",
        },
        outputs={
            "out": "table2.tsv",
            "html_out": "table2.html",
            "baselines_out": "baselines.tsv",
            "baselines_html": "baselines.html",
        },
        params={**_BOOTSTRAP, **_LABEL},
        resources=_PUBLISHED,
        megabytes=2000,
        minutes=20,
    ),
    Page(
        rule="guan2020_table3",
        function="studies.guan2020.table3:table3",
        inputs={"answers_path": "ablations/answers.parquet", "heads_path": "ablations/heads.tsv"},
        outputs={"out": "table3.tsv", "html_out": "table3.html"},
        params={**_BOOTSTRAP, **_LABEL},
        resources=_PUBLISHED,
        megabytes=2000,
        minutes=20,
    ),
    dropped_page("guan2020", "Guan et al. 2020: what was left out"),
    Page(
        rule="guan2020_comparison",
        function="studies.guan2020.comparison:comparison",
        inputs=tables("types_summary", "head_types", "figure3", "table1", "table2", "table3", "baselines"),
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params={"fits": ("settings", "fits"), **_LABEL},
        resources=_PUBLISHED,
    ),
)
