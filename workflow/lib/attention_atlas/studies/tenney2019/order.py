"""Order of tasks: the page of neighbours in the order of expected layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.published.values import load_published, published_column
from attention_atlas.studies.tenney2019.summary import ORDER

ORDER_PAGE = [*ORDER, "paper_expected_layer", "paper_next_expected_layer"]
"""`ORDER`, with the expected layers of both tasks in the paper (BERT-large)."""


def order_page(path: str | Path, labels: Mapping[str, RunLabel], out: str | Path, html_out: str | Path) -> None:
    """Write the table with the paper's expected layers, and its page.

    Args:
        path: table `ORDER` of `summary`.
        labels: task -> run, model and corpus.
        out, html_out: files to write: `ORDER_PAGE`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ORDER)
    for name, task in (("paper_expected_layer", "task"), ("paper_next_expected_layer", "next_task")):
        table[name] = _published_layers(table[task])
    write_table(table[ORDER_PAGE].astype(dict.fromkeys(ORDER_PAGE[-2:], float)), out)
    write_html_table(
        table.assign(task=table["task"].map(EDGE_TASKS), next_task=table["next_task"].map(EDGE_TASKS)),
        html_out,
        "Tenney et al. 2019: is the order of tasks stable?",
        [
            *joint_lines(labels.values()),
            "Neighbours in the order of expected layers, and the share of bootstrap resamples of seeds and documents (or "
            "sentences where the corpus does not name its documents: unit) with this order. Tasks whose total gain is within "
            "two standard errors of 0 (noise) have no expected layer. The paper's expected layers are those of BERT-large.",
        ],
        {"paper_expected_layer": "paper: expected layer", "paper_next_expected_layer": "paper: next expected layer"},
        {"probability": ".2f"} | dict.fromkeys((*ORDER[2:7], "paper_expected_layer", "paper_next_expected_layer"), ".2f"),
    )


def _published_layers(tasks: pd.Series) -> list[float | None]:
    """Expected layers of tasks in Figure 1 of the paper."""
    rows = pd.DataFrame({"task": tasks, "within_noise": 0})
    return published_column(load_published("tenney2019"), "Figure 1 (and A.2 right)", "figure1", "expected_layer", rows)
