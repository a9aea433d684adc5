"""Tables, figures and the page of the atlas, which are rendered from the tables of all studies of a run."""

from __future__ import annotations

from attention_atlas.workflow.page import Page

_RUN = {"run": ("run_title",)}
_DRAWS = {"draws": ("draws",)}
_COMPARED = {"models": ("compared_tables",), "label": ("label", "sentences"), **_DRAWS}
PAGES = (
    Page(
        rule="atlas_heads",
        function="atlas.measures:write_heads",
        outputs={"out": "heads.tsv", "measures_out": "measures.tsv", "html_out": "measures.html"},
        params={
            "tables": ("head_tables",),
            "model": ("model_of_study",),
            "shape": ("shape",),
            "models": ("head_models",),
            "skip_reasons": ("skipped_tables",),
            **_RUN,
        },
        reads=(("head_files",),),
    ),
    Page(
        rule="atlas_correlations",
        function="atlas.correlations:write_correlations",
        inputs={"heads": "heads.tsv"},
        outputs={"out": "correlations.tsv"},
        params=_DRAWS,
        megabytes=2000,
        minutes=30,
    ),
    Page(
        rule="atlas_correlations_figure",
        function="atlas.figures:correlation_map",
        inputs={"correlations": "correlations.tsv", "measures": "measures.tsv"},
        pictures="correlations",
        params={"line": ("run_title",)},
    ),
    Page(
        rule="atlas_findings",
        function="atlas.findings:write_findings",
        inputs={"heads": "heads.tsv", "measures": "measures.tsv"},
        outputs={"out": "findings.tsv", "html_out": "findings.html"},
        params={"models": ("study_models",), **_RUN, **_DRAWS},
        megabytes=2000,
        minutes=30,
    ),
    Page(
        rule="atlas_models",
        function="atlas.models:write_models",
        outputs={"out": "models.tsv", "findings_out": "models_findings.tsv", "html_out": "models_findings.html"},
        params={**_COMPARED, **_RUN},
        reads=(("compared_files",),),
        reported={"models_findings.html": "models"},
    ),
    Page(
        rule="atlas_models_figure",
        function="atlas.models_figure:models_figure",
        pictures="models",
        params=_COMPARED,
        reads=(("compared_files",),),
    ),
    Page(
        rule="atlas_page",
        function="atlas.page:write_page",
        inputs={
            "heads_path": "heads.tsv",
            "measures_path": "measures.tsv",
            "correlations_path": "correlations.tsv",
            "relations_path": ("relation_file",),
            "evidence__pairs": ("attended_file", "pairs"),
            "evidence__kinds": ("attended_file", "kinds"),
            "drawn__shard": ("drawn_sentences", "attention", "safetensors"),
            "drawn__examples": ("drawn_sentences", "examples", "parquet"),
            "drawn__dropped": ("drawn_sentences", "examples", "dropped.tsv"),
        },
        outputs={"out": "atlas.html"},
        params={"drawn": ("settings", "drawn"), "label": ("page_label",), **_RUN},
        reads=(("drawn_sentences", "attention", "json"),),
        reported={"atlas.html": "measures"},
        resources=("atlas/page.html", "atlas/page.css", "atlas/page.js"),
        megabytes=2000,
    ),
)
