"""Options: the page of what layer 0, running maxima and equal steps change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.claims import NONE_STOPPED, stopped_early
from attention_atlas.studies.tenney2019.figure_labels import evaluated
from attention_atlas.studies.tenney2019.names import EMBEDDINGS, EQUAL
from attention_atlas.studies.tenney2019.summary import OPTIONS


def options_page(path: str | Path, labels: Mapping[str, RunLabel], html_out: str | Path) -> None:
    """Write the page.

    Args:
        path: table `OPTIONS` of `summary`.
        labels: task -> run, model and corpus.
        html_out: file to write.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, OPTIONS)
    write_html_table(
        table.assign(task=table["task"].map(EDGE_TASKS)),
        html_out,
        "Tenney et al. 2019: what options change",
        [
            *joint_lines(labels.values()),
            "Layer 0: what goes into the first layer (words, places, segments), or the words alone, as in published code. "
            "Gains: as they are, or of the best score so far, which never falls. Condition: stopped early as published, or the "
            "same number of steps for all tasks (centre of gravity alone). An expected layer is not given where the whole gain "
            f"is within two standard errors of nothing. {evaluated(table)} Means over {table['seeds'].iloc[0]} seeds.",
            *([] if stopped_early(_steps(table)) else [f"Equal steps: {NONE_STOPPED}."]),
        ],
        formats=dict.fromkeys(("f1_first", "f1_last"), ".1f")
        | dict.fromkeys(OPTIONS[4:8], ".2f")
        | {"within_noise": "d", "steps": ".0f"},
    )


def _steps(table: pd.DataFrame) -> pd.DataFrame:
    """Steps of the probes on all layers: steps where they stop early, equal_steps where they do not."""
    equal = table["condition"] == EQUAL
    by_task = table[~equal & (table["layer0"] == EMBEDDINGS)].groupby("task")["steps"].first()
    return pd.DataFrame({"steps": by_task, "equal_steps": table[equal].set_index("task")["steps"]})
