"""Figure: the best heads by calibrated cross-entropy, and the slides' rank against AUC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import seaborn as sns
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLUE, GREY, PAGE, footnote, panels, save_figure
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
    figure, axes = panels(PAGE / 2, 3.6)
    best = table.head(_SHOWN_HEADS).assign(
        name=lambda rows: [f"{row.layer}-{row.head}" for row in rows.itertuples()],
        saved=lambda rows: 1000 * (rows["cross_entropy_none"] - rows["cross_entropy"]),
    )
    sns.barplot(best, x="saved", y="name", color=BLUE, errorbar=None, width=0.7, saturation=1, ax=axes[0])
    axes[0].axvline(0, color=GREY, linewidth=0.6)
    axes[0].set_ylabel("Layer-head")
    axes[0].set_xlabel("Held-out log loss saved (0.001 nats per word)")
    axes[0].set_title(f"The {len(best)} best of {len(table)} heads, calibrated")
    interval = [table["auc"] - table["auc_low"], table["auc_high"] - table["auc"]]
    axes[1].errorbar(table["slide_rank"], table["auc"], yerr=interval, fmt="none", ecolor=GREY, linewidth=0.4, alpha=0.7)
    sns.scatterplot(table, x="slide_rank", y="auc", s=12, color=BLUE, linewidth=0, zorder=3, ax=axes[1])
    axes[1].axhline(0.5, color=GREY, linewidth=0.8, linestyle="--")
    axes[1].set_xlabel("Rank by the slides' sum (uncalibrated)")
    axes[1].set_ylabel("AUC of the head's attention")
    axes[1].xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes[1].set_title("All heads (dashed: chance)")
    first = table.iloc[0]
    count = f"n = {first['n']:,.0f} words ({100 * first['share']:.1f} % in keyphrases) of {first['documents']:.0f} documents"
    save_figure(figure, pictures, footnote(label, count))
