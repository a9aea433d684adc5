"""The tables of the scoreboard, rendered from the comparisons and claims of all studies of a run."""

from __future__ import annotations

from attention_atlas.workflow.page import Page

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
)
