"""Figure 1: how many heads leave which score when they are masked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLACK, BLUE, GREEN, ORANGE, save_figure, use_style
from attention_atlas.studies.michel2019.masks import KIND_TITLES
from attention_atlas.studies.setting import Setting, joint_lines
from attention_atlas.tables import read_table

_COLOURS = {"enc_enc": BLUE, "enc_dec": ORANGE, "dec_dec": GREEN}
_TITLES = {"translation": "Translation", "classification": "Classification"}
_BINS = 24


def figure1(path: str | Path, settings: Mapping[str, Setting], pictures: Mapping[str, str | Path]) -> None:
    """Draw a histogram of heads by score for each experiment, by kind of attention where there are several.

    Args:
        path: of `ablation_tables`.
        settings: translation, classification -> what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["experiment", "kind", "metric", "score", "baseline", "p", "p_holm", "n"])
    experiments = list(dict.fromkeys(table["experiment"]))
    use_style()
    figure, axes = plt.subplots(
        1, len(experiments), figsize=(4.1 * len(experiments), 3.3), constrained_layout=True, squeeze=False
    )
    facts = []
    for axis, name in zip(axes[0], experiments, strict=True):
        own = table[table["experiment"] == name]
        _histogram(axis, own, _TITLES[name])
        facts.append(
            f"{_TITLES[name]}: {len(own)} heads, n = {own['n'].iloc[0]} examples, p < 0.01 for {(own['p'] < 0.01).sum()}, "
            f"after Holm {(own['p_holm'] < 0.01).sum()}"
        )
    note = "Scores with one head masked. " + "; ".join(facts) + "."
    save_figure(figure, pictures, "\n".join([*joint_lines(settings.values()), note]))


def _histogram(axis: Axes, rows: pd.DataFrame, title: str) -> None:
    kinds = [kind for kind in _COLOURS if (rows["kind"] == kind).any()]
    low, high = min(rows["score"].min(), rows["baseline"].iloc[0]), max(rows["score"].max(), rows["baseline"].iloc[0])
    margin = max(high - low, 0.1) / 20
    edges = np.linspace(low - margin, high + margin, _BINS + 1)
    axis.hist(
        [rows.loc[rows["kind"] == kind, "score"] for kind in kinds],
        bins=edges,
        stacked=True,
        color=[_COLOURS[kind] for kind in kinds],
        label=[KIND_TITLES[kind] for kind in kinds],
    )
    baseline = float(rows["baseline"].iloc[0])
    axis.axvline(baseline, color=BLACK, linewidth=1, linestyle="--", label=f"No head masked: {baseline:.1f}")
    axis.set_title(title)
    axis.set_xlabel("BLEU" if rows["metric"].iloc[0] == "BLEU" else "Accuracy, %")
    axis.set_ylabel("Heads")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(loc="upper left")
