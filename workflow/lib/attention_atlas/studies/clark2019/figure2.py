"""Figure 2: average attention to [CLS], [SEP] and punctuation, and from [SEP] to [SEP]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from attention_atlas.figures.by_layer import Series, draw_by_layer, draw_range
from attention_atlas.figures.style import BLUE, GREEN, PURPLE, VERMILION, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.surface import TARGETS

TRAINED, RANDOM = "trained", "random"
TOP = [
    Series("cls", "[CLS]", VERMILION, "o"),
    Series("sep", "[SEP]", BLUE, "s"),
    Series("punct", "full stop or comma", PURPLE, "^"),
]
BOTTOM = [
    Series("rest_sep", "other tokens → [SEP]", BLUE, "s"),
    Series("sep_sep", "[SEP] → [SEP]", GREEN, "D"),
]


def figure2(
    surface_path: str | Path,
    random_path: str | Path | None,
    label: RunLabel,
    out: str | Path,
    pictures: Mapping[str, str | Path],
) -> None:
    """Write the plotted numbers and draw both panels.

    Args:
        surface_path: measures of all heads of the run's model.
        random_path: the same of the model with random weights, None where the run names none.
        label: run, model and corpus.
        out: target, layer, head, mean_attention, ci_low, ci_high, n, unit, units, weights (trained or random).
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = _targets(surface_path).assign(weights=TRAINED)
    random = None if random_path is None else _targets(random_path).assign(weights=RANDOM)
    write_table(table if random is None else pd.concat([table, random], ignore_index=True), out)
    use_style()
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.6, 6.2), sharex=True, constrained_layout=True)
    for axes, series, title in ((top, TOP, "Attention to special tokens"), (bottom, BOTTOM, "Attention to [SEP] by source")):
        if random is not None:
            draw_range(axes, random, series, "target", "mean_attention", "random weights: range and mean of heads")
        draw_by_layer(axes, table, series, "target", "mean_attention")
        axes.set_ylim(0, 1)
        axes.set_ylabel("Mean attention (share of mass)")
        axes.set_title(title, loc="left")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper right")
        axes.label_outer()
    heads = len(table[["layer", "head"]].drop_duplicates())
    n = int(table["n"].max())
    save_figure(figure, pictures, f"{label.line}\nDots: {heads} heads; lines: mean of a layer. n = {n} segments.")


def _targets(path: str | Path) -> pd.DataFrame:
    surface = read_table(path, ["measure", "layer", "head", "value", "ci_low", "ci_high", "n"])
    return surface[surface["measure"].isin(TARGETS)].rename(columns={"measure": "target", "value": "mean_attention"})
