"""The scoreboard, rendered from the comparisons and claims of all studies of a run, and the index page of its artefacts."""

from __future__ import annotations

from attention_atlas.workflow.page import Page

INDEX = "index.html"
"""Index page of a run, in its folder: a thumbnail and links for every artefact."""
PAGES = (
    Page(
        rule="scoreboard_tables",
        function="published.scoreboard:write_scoreboard",
        outputs={
            "out": "comparison.tsv",
            "html_out": "comparison.html",
            "summary_out": "scoreboard.tsv",
            "summary_html": "scoreboard.html",
            "claims_out": "claims.tsv",
            "claims_html": "claims.html",
        },
        params={
            "comparisons": ("tables", "comparison"),
            "claims": ("tables", "claims"),
            "run": ("run_title",),
            "generated": ("reads_sample",),
        },
        reads=(("files",),),
    ),
    Page(
        rule="scoreboard_index",
        function="published.run_index:write_index",
        inputs={"summary": "scoreboard.tsv"},
        outputs={"out": INDEX},
        params={
            "entries": ("index_entries",),
            "pages": ("index_pages",),
            "run": ("run_title",),
            "generated": ("reads_sample",),
        },
        reads=(("index_files",),),
    ),
)
