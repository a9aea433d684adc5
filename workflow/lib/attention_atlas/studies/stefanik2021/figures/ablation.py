"""Figure: the change in token F1 when each head is removed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLACK, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.figures.head_map import draw_head_map
from attention_atlas.studies.stefanik2021.names import MEAN, TEST, TOKEN
from attention_atlas.studies.stefanik2021.removal_pages import removal_warning
from attention_atlas.studies.stefanik2021.removal_tables import FINE_TUNING


def ablation(path: str | Path, fine_tuning_path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw the change in token F1 on test documents when each head is removed: a map, and a histogram.

    Args:
        path: table `removal_tables.ABLATION`.
        fine_tuning_path: table `removal_tables.FINE_TUNING`, for the caption.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    names = ["seed", "split", "layer", "head", "metric", "baseline", "value", "delta", "p", "p_adjusted", "documents"]
    table = read_table(path, names)
    table = table[(table["split"] == TEST) & (table["metric"] == TOKEN)]
    mean = table[table["seed"] == MEAN]
    figure, axes = panels(4.2, 3.4, 2)
    draw_head_map(
        axes[0], mean.assign(value=mean["delta"]), "Difference of token F1, points", "RdBu_r", mean[mean["p_adjusted"] < 0.05]
    )
    axes[0].set_title("Mean over seeds")
    deltas = [head_rows["delta"].to_numpy() for _, head_rows in table[table["seed"] != MEAN].groupby("seed")]
    low, high = min(map(np.min, deltas)), max(map(np.max, deltas))
    edges = np.linspace(low, high, 25) if high > low else np.array([low - 0.5, high + 0.5])
    colours = [plt.get_cmap("cividis")(shade) for shade in np.linspace(0.1, 0.9, len(deltas))]
    seeds = [f"seed {name}" for name, _ in table[table["seed"] != MEAN].groupby("seed")]
    axes[1].hist(deltas, bins=edges, stacked=True, color=colours, label=seeds)
    axes[1].axvline(0, color=BLACK, linewidth=0.8, linestyle="--")
    axes[1].set_xlabel("Difference of token F1, points")
    axes[1].set_ylabel("Heads")
    axes[1].yaxis.set_major_locator(MaxNLocator(integer=True))
    axes[1].legend(loc="best")
    axes[1].set_title("Each seed")
    note = (
        f"Token F1 with one head removed less that of the whole model ({mean['baseline'].iloc[0]:.1f}, mean of seeds), "
        f"n = {mean['documents'].iloc[0]} test documents. A dot: p < 0.05 by a paired permutation test over documents, "
        f"adjusted for {len(mean)} heads by the maximum statistic "
        f"({(mean['p_adjusted'] < 0.05).sum()} of them; {(mean['p'] < 0.05).sum()} unadjusted)."
    )
    warning = removal_warning(read_table(fine_tuning_path, FINE_TUNING))
    save_figure(figure, pictures, "\n".join([label.line, note, *warning]))
