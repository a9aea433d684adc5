"""Figure: the change in token F1 when each head is removed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import seaborn as sns
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.bins import centred_edges
from attention_atlas.figures.quantities import change
from attention_atlas.figures.style import DIVERGING, GREY, PAGE, footnote, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.figures.head_map import draw_head_map
from attention_atlas.studies.stefanik2021.names import FINE_TUNING, MEAN, TEST, TOKEN
from attention_atlas.studies.stefanik2021.removal_pages import removal_remark


def ablation(path: str | Path, fine_tuning_path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw the change in token F1 on test documents when each head is removed: a map, and a histogram.

    Args:
        path: table `names.ABLATION`.
        fine_tuning_path: table `names.FINE_TUNING`, for the remark where removals are uninformative.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    names = ["seed", "split", "layer", "head", "metric", "baseline", "value", "delta", "p", "p_adjusted", "documents"]
    table = read_table(path, names)
    table = table[(table["split"] == TEST) & (table["metric"] == TOKEN)]
    mean = table[table["seed"] == MEAN]
    by_seed = table[table["seed"] != MEAN]
    figure, axes = panels(PAGE / 2, 3.1)
    significant = mean[mean["p_adjusted"] < 0.05]
    draw_head_map(axes[0], mean.assign(value=mean["delta"]), change("token F1"), DIVERGING, significant)
    axes[0].set_title(f"Mean over seeds: {len(significant)} of {len(mean)} heads significant")
    seeds = sorted(by_seed["seed"].astype(str).unique())
    sns.histplot(
        by_seed.assign(seed=[f"seed {name}" for name in by_seed["seed"]]),
        x="delta",
        hue="seed",
        hue_order=[f"seed {name}" for name in seeds],
        palette=sns.color_palette("crest", len(seeds)),
        multiple="stack",
        bins=list(centred_edges(by_seed["delta"].to_numpy(np.float64))),
        alpha=0.95,
        linewidth=0.3,
        ax=axes[1],
    )
    axes[1].axvline(0, color=GREY, linewidth=0.8, linestyle="--")
    axes[1].set_xlabel(change("token F1"))
    axes[1].set_ylabel("Heads")
    axes[1].yaxis.set_major_locator(MaxNLocator(integer=True))
    # The side with the lower bars has room for the legend.
    sns.move_legend(axes[1], "upper left" if by_seed["delta"].max() < -by_seed["delta"].min() else "upper right", title=None)
    axes[1].set_title(f"Each seed (full model: {mean['baseline'].iloc[0]:.1f} %)")
    count = f"n = {mean['documents'].iloc[0]} test documents"
    remark = removal_remark(read_table(fine_tuning_path, FINE_TUNING))
    save_figure(figure, pictures, footnote(label, "; ".join(filter(None, [count, remark]))))
