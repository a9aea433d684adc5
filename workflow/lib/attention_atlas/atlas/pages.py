"""Tables, figures and the page of the atlas, rendered from the tables of all studies of a run."""

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
        inputs={"heads": "heads.tsv", "measures": "measures.tsv"},
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
        outputs={"out": "models.tsv", "findings_out": "models_findings.tsv", "html_out": "models_findings.html"}
        | {"claims_out": "models_claims.tsv"},
        params={**_COMPARED, **_RUN, "series": ("series_models",)},
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
        rule="atlas_matching",
        function="atlas.matching:write_matching",
        outputs={"out": "matches.tsv", "agreement_out": "matching.tsv"},
        params={"models": ("compared_tables",), **_DRAWS},
        reads=(("compared_files",),),
        megabytes=2000,
    ),
    Page(
        rule="atlas_matching_figure",
        function="atlas.matching_figure:matching_figure",
        inputs={"agreement": "matching.tsv"},
        pictures="matching",
        params={"first": ("model_of_study",), "label": ("label", "sentences")},
    ),
    Page(
        rule="atlas_series",
        function="atlas.series:write_series",
        outputs={"out": "series.tsv"},
        params={"models": ("compared_tables",), "series": ("settings", "series"), **_DRAWS},
        reads=(("compared_files",),),
    ),
    Page(
        rule="atlas_series_figure",
        function="atlas.series_figure:series_figure",
        inputs={"series": "series.tsv"},
        pictures="series",
        params={"label": ("label", "sentences"), "checkpoints": ("settings", "checkpoints")},
    ),
    # What heads attend to is measured on the atlas's sentences; the pairs of words on the page are from the sentences shown.
    Page(
        rule="atlas_page",
        function="atlas.page:write_page",
        inputs={
            "heads_path": "heads.tsv",
            "measures_path": "measures.tsv",
            "correlations_path": "correlations.tsv",
            "relations_path": ("relation_file",),
            "evidence__pairs": ("attended_file", "attended_pairs"),
            "evidence__kinds": ("attended_file", "attended_kinds"),
            "comparison__matches": ("page_table", "matches.tsv", "compared"),
            "comparison__agreement": ("page_table", "matching.tsv", "compared"),
            "comparison__means": ("page_table", "models.tsv", "compared"),
            "comparison__findings": ("page_table", "models_findings.tsv", "compared"),
            "comparison__series": ("page_table", "series.tsv", "series"),
            "shown_sentences__shard": ("shown_sentences", "attention", "safetensors"),
            "shown_sentences__examples": ("shown_sentences", "examples", "parquet"),
            "shown_sentences__dropped": ("shown_sentences", "examples", "dropped.tsv"),
        },
        outputs={"out": "atlas.html"},
        params={
            "shown_sentences": ("settings", "shown_sentences"),
            "label": ("page_label",),
            "models": ("page_models",),
            "sources": ("measure_sources",),
            "checkpoints": ("settings", "checkpoints"),
            **_RUN,
        },
        reads=(("shown_sentences", "attention", "json"), ("page_files",), ("source_files",)),
        reported={"atlas.html": "measures"},
        resources=("atlas/page.html", "atlas/page.css", "atlas/page.js"),
        megabytes=2000,
    ),
)
