"""Tables and figures of the example study that are rendered from tables, one rule each."""

from __future__ import annotations

from attention_atlas.workflow.page import Page, tables

_LABEL = {"label": ("label", "texts")}
PAGES = (
    Page(
        rule="toy2024_table1",
        function="studies.toy2024.table1:table1",
        inputs={"path": "self_attention.tsv"},
        outputs={"out": "table1.tsv", "html_out": "table1.html"},
        params=_LABEL,
    ),
    Page(
        rule="toy2024_figure1",
        function="studies.toy2024.figure1:figure1",
        inputs={"path": "self_attention.tsv"},
        outputs={"out": "figure1.tsv"},
        pictures="figure1",
        params=_LABEL,
    ),
    Page(
        rule="toy2024_comparison",
        function="studies.toy2024.comparison:comparison",
        inputs=tables("table1"),
        outputs={"out": "comparison.tsv", "html_out": "comparison.html"},
        params={"resamples": ("settings", "resamples"), **_LABEL},
        resources=("published/toy2024.csv",),
    ),
)
