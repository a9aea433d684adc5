"""Figure 4: BLEU by percent of the heads of one kind of attention masked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from attention_atlas.figures.style import panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.michel2019.curves import FIGURE4
from attention_atlas.studies.michel2019.figure_style import KIND_COLOURS, KIND_MARKERS
from attention_atlas.studies.michel2019.names import KIND_TITLES


def figure4(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw BLEU by percent of the heads of one kind of attention, pruned by importance.

    Args:
        path: `FIGURE4` of `curves.pruning_curves`.
        label: model and corpus of the run.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE4)
    figure, axes = panels(5.2, 3.5, 1)
    for kind in (kind for kind in KIND_COLOURS if (table["kind"] == kind).any()):
        rows = table[table["kind"] == kind].sort_values("percent")
        _banded(axes[0], rows, f"{KIND_TITLES[kind]} ({rows['heads'].iloc[0]} heads)", KIND_COLOURS[kind], KIND_MARKERS[kind])
    axes[0].set_xlabel("Heads of this kind masked, %")
    axes[0].set_ylabel("BLEU")
    axes[0].set_ylim(bottom=0)
    axes[0].legend(loc="best")
    note = (
        "Heads of one kind of attention masked in the order of their importance, all others left as they are; bands: 95 % "
        f"interval by bootstrap over n = {table['n'].iloc[0]} sentences."
    )
    save_figure(figure, pictures, "\n".join([label.line, note]))


def _banded(axis: Axes, rows: pd.DataFrame, label: str, colour: Any, mark: str) -> None:
    axis.plot(rows["percent"], rows["score"], color=colour, marker=mark, markersize=3.5, linewidth=1.3, label=label)
    axis.fill_between(rows["percent"], rows["ci_low"], rows["ci_high"], color=colour, alpha=0.15, linewidth=0)
