"""Figure 5: BLEU by percent of heads masked, after several epochs of training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from attention_atlas.figures.style import panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.michel2019.curves import FIGURE5, dynamics_table
from attention_atlas.studies.michel2019.names import LEAST_BLEU


def figure5(
    path: str | Path,
    resamples: int,
    seed: int,
    label: RunLabel,
    out: str | Path,
    statistics_out: str | Path,
    pictures: Mapping[str, str | Path],
) -> None:
    """Write `FIGURE5` and draw BLEU by percent of heads masked after several epochs of training, also as a share of the whole
    model's.

    Args:
        path: table of `dynamics`.
        resamples, seed: of the bootstrap.
        label: model and corpus of the run.
        out, statistics_out: tables of `curves.dynamics_table` to write.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    dynamics_table(path, resamples, seed, out, statistics_out)
    table = read_table(out, FIGURE5)
    figure, axes = panels(4.1, 3.5)
    epochs = sorted(table["epoch"].unique())
    # Light to dark in the order of training; markers distinguish them in print.
    colours = plt.get_cmap("cividis_r")(np.linspace(0.05, 1, len(epochs)))
    for number, epoch in enumerate(epochs):
        rows = table[table["epoch"] == epoch].sort_values("percent")
        style = {"color": colours[number], "marker": "os^DvP*X"[number % 8], "markersize": 3.5, "linewidth": 1.3}
        axes[0].plot(rows["percent"], rows["score"], label=f"epoch {epoch}: BLEU {rows['baseline'].iloc[0]:.1f}", **style)
        axes[1].plot(rows["percent"], 100 * rows["share"], **style)
    for axis, title in zip(axes, ("BLEU", "BLEU, % of the whole model's"), strict=True):
        axis.set_xlabel("Heads masked, %")
        axis.set_ylabel(title)
        axis.set_ylim(bottom=0)
    axes[0].legend(loc="best")
    note = (
        f"{table['heads'].iloc[0]} heads of all kinds of attention masked in the order of their importance, which is computed "
        f"anew after each epoch; n = {table['n'].iloc[0]} sentences. The legend has the BLEU of the whole model; as a share "
        f"only where that is {LEAST_BLEU:g} or more."
    )
    save_figure(figure, pictures, "\n".join([label.line, note]))
