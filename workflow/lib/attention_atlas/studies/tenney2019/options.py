"""Options: the page of the effects of layer 0, running maxima and equal steps."""

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
        "Tenney et al. 2019: effect of each option",
        [
            *joint_lines(labels.values()),
            "Layer 0: the input of the first layer (words, positions, segments), or the words alone, as in the published code. "
            "Gains: of the scores as measured, or of the best score so far, which never falls. Condition: early stopping as "
            "published, or the same number of steps for all tasks (centre of gravity only). No expected layer is given where "
            f"the total gain is within two standard errors of 0. {evaluated(table)} Means over {table['seeds'].iloc[0]} seeds.",
            *([] if stopped_early(_steps(table)) else [f"Equal steps: {NONE_STOPPED}."]),
        ],
        formats=dict.fromkeys(("f1_first", "f1_last"), ".1f")
        | dict.fromkeys(OPTIONS[4:8], ".2f")
        | {"within_noise": "d", "steps": ".0f"},
    )


def _steps(table: pd.DataFrame) -> pd.DataFrame:
    """Steps of the probes on all layers: steps with early stopping, equal_steps without."""
    equal = table["condition"] == EQUAL
    by_task = table[~equal & (table["layer0"] == EMBEDDINGS)].groupby("task")["steps"].first()
    return pd.DataFrame({"steps": by_task, "equal_steps": table[equal].set_index("task")["steps"]})
