"""Figure: the best heads by calibrated cross-entropy, and the slides' rank against AUC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLUE, GREY, VERMILION, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_SHOWN_HEADS = 20


def head_ranking(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw the best heads by calibrated cross-entropy, and the slides' uncalibrated rank against AUC.

    Args:
        path: table `ranking.RANKING`.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    names = ["layer", "head", "auc", "auc_low", "auc_high", "cross_entropy", "cross_entropy_none", "slide_rank", "share", "n"]
    table = read_table(path, [*names, "documents"])
    figure, axes = panels(4.4, 4.2, 2)
    best = table.head(_SHOWN_HEADS)[::-1]
    places = np.arange(len(best))
    saved = best["cross_entropy_none"] - best["cross_entropy"]
    axes[0].barh(places, 1000 * saved, color=BLUE, height=0.7)
    axes[0].set_yticks(places, [f"{row.layer}-{row.head}" for row in best.itertuples()], fontsize=7.5)
    axes[0].set_ylabel("Layer-head")
    axes[0].set_xlabel("Cross-entropy saved, thousandths of a nat a word")
    axes[0].set_title(f"The {len(best)} best of {len(table)} heads, calibrated")
    interval = [table["auc"] - table["auc_low"], table["auc_high"] - table["auc"]]
    axes[1].errorbar(table["slide_rank"], table["auc"], yerr=interval, fmt="none", ecolor=GREY, linewidth=0.5)
    axes[1].scatter(table["slide_rank"], table["auc"], s=16, color=VERMILION, linewidths=0, zorder=3)
    axes[1].axhline(0.5, color=GREY, linewidth=0.8, linestyle="--", label="chance")
    axes[1].set_xlabel("Rank by the slides' sum (uncalibrated)")
    axes[1].set_ylabel("AUC of the head's attention")
    axes[1].xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[1].legend(loc="best")
    axes[1].set_title("All heads")
    note = (
        "Left: log loss of the share of key words less that of a probability fitted to the head's attention, both from other "
        f"documents. n = {table['n'].iloc[0]} words of {table['documents'].iloc[0]} documents, "
        f"{table['share'].iloc[0]:.1%} of them of keyphrases. Bars: 95 % interval of the AUC over documents."
    )
    save_figure(figure, pictures, f"{label.line}\n{note}")
