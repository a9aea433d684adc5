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
        inputs={"maps_path": "maps.tsv", "types_path": "head_types.tsv", "summary_path": "head_type_summary.tsv"},
        copies={"figure1.tsv": "maps_path"},
        pictures="figure1",
        params=_LABEL,
    ),
    Page(
        rule="guan2020_figure2",
        function="studies.guan2020.figure2:figure2",
        inputs={
            "plane_path": "head_type_plane.tsv",
            "agreement_path": "head_type_agreement.tsv",
            "summary_path": "head_type_summary.tsv",
        },
        copies={"figure2.tsv": "plane_path"},
        pictures="figure2",
        params=_LABEL,
    ),
    Page(
        rule="guan2020_figure3",
        function="studies.guan2020.figure3:figure3",
        inputs={"layers_path": "head_type_layers.tsv", "summary_path": "head_type_summary.tsv"},
        copies={"figure3.tsv": "layers_path"},
        pictures="figure3",
        params=_LABEL,
        resources=_PUBLISHED,
    ),
    Page(
        rule="guan2020_models",
        function="studies.guan2020.models_compared:compare_models",
        inputs={"types_path": "head_types.tsv"},
        outputs={"out": "models.tsv"},
        params={"method": ("settings", "method"), **_COMPARED},
        reads=(("compared_features",),),
        megabytes=2000,
    ),
    Page(
        rule="guan2020_figure4",
        function="studies.guan2020.figure4:figure4",
        inputs={"path": "models.tsv"},
        copies={"figure4.tsv": "path"},
        pictures="figure4",
        params={"labels": ("compared_labels",)},
    ),
    Page(
        rule="guan2020_figure5",
        function="studies.guan2020.figure5:figure5",
        inputs={"path": "map_grid.tsv"},
        copies={"figure5.tsv": "path"},
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
            "answers_path": "answers.parquet",
            "types_path": "head_types.tsv",
            "baselines_path": "baselines.tsv",
        },
        outputs={"out": "table2.tsv", "html_out": "table2.html"},
        params={**_BOOTSTRAP, **_LABEL},
        resources=_PUBLISHED,
        megabytes=2000,
        minutes=20,
    ),
    Page(
        rule="guan2020_table3",
        function="studies.guan2020.table3:table3",
        inputs={"answers_path": "answers.parquet", "types_path": "head_types.tsv"},
        outputs={"out": "table3.tsv", "html_out": "table3.html"},
        params={**_BOOTSTRAP, **_LABEL},
        resources=_PUBLISHED,
        megabytes=2000,
        minutes=20,
    ),
    Page(
        rule="guan2020_baselines",
        function="studies.guan2020.baselines:baselines_table",
        inputs={"scored_path": "answer_baselines.tsv"},
        outputs={"out": "baselines.tsv", "html_out": "baselines.html"},
        params={**_BOOTSTRAP, **_LABEL},
    ),
    Page(
        rule="guan2020_agreement",
        function="studies.guan2020.agreement:agreement_page",
        inputs={"agreement_path": "head_type_agreement.tsv", "summary_path": "head_type_summary.tsv"},
        outputs={"html_out": "agreement.html"},
        copies={"agreement.tsv": "agreement_path"},
        params={"fits": ("settings", "fits"), **_LABEL},
    ),
    Page(
        rule="guan2020_names",
        function="studies.guan2020.type_names:type_names",
        inputs={"types_path": "head_types.tsv", "summary_path": "head_type_summary.tsv"},
        outputs={"out": "names.tsv", "html_out": "names.html"},
        params=_LABEL,
    ),
    dropped_page("guan2020", "Guan et al. 2020: dropped examples, by reason"),
    Page(
        rule="guan2020_comparison",
        function="studies.guan2020.comparison:comparison",
        inputs={
            **tables("head_type_summary", "head_types", "table1", "table2", "table3", "baselines"),
            "answers_path": "answers.parquet",
        },
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params={"fits": ("settings", "fits"), **_BOOTSTRAP, **_LABEL},
        megabytes=2000,
        resources=_PUBLISHED,
    ),
)
