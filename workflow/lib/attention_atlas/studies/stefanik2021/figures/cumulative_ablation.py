"""Figure: test scores by the number of heads removed, in each order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLUE, GREEN, GREY, VERMILION, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.names import (
    IMPORTANCE,
    METRIC_TITLES,
    OPTIMISTIC,
    ORDER_TITLES,
    PHRASE,
    RANDOM,
    TEST,
    TOKEN,
    WORST,
)
from attention_atlas.studies.stefanik2021.removal_pages import removal_warning
from attention_atlas.studies.stefanik2021.removal_tables import FINE_TUNING

_LINES = {
    WORST: (BLUE, "-", "o"),
    IMPORTANCE: (GREEN, "--", "s"),
    OPTIMISTIC: (VERMILION, ":", "^"),
    RANDOM: (GREY, "-.", ""),
}


def cumulative_ablation(
    path: str | Path, fine_tuning_path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]
) -> None:
    """Draw scores on test documents by heads removed, in each order.

    Args:
        path: table `removal_tables.CUMULATIVE`.
        fine_tuning_path: table `removal_tables.FINE_TUNING`, for the caption.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ["seed", "order", "draw", "split", "heads_removed", "metric", "value", "documents"])
    table = table[table["split"] == TEST]
    figure, axes = panels(4.2, 3.6, 2)
    for axis, metric in zip(axes, (TOKEN, PHRASE), strict=True):
        of_metric = table[table["metric"] == metric]
        for order, (colour, dashes, mark) in _LINES.items():
            curves = of_metric[of_metric["order"] == order]
            groups = curves.groupby("heads_removed")["value"]
            mean = groups.mean()
            style = {"color": colour, "linestyle": dashes, "marker": mark, "markersize": 3.5, "linewidth": 1.3}
            axis.plot(mean.index, mean, label=ORDER_TITLES[order], **style)
            axis.fill_between(mean.index, groups.min(), groups.max(), color=colour, alpha=0.15, linewidth=0)
        axis.set_xlabel("Heads removed")
        axis.set_ylabel(METRIC_TITLES[metric])
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8)
    draws = table.loc[table["order"] == RANDOM, "draw"].nunique()
    note = (
        f"Lines: mean over {table['seed'].nunique()} seeds (and {draws} random orders); bands: least and most of them. "
        f"n = {table['documents'].iloc[0]} test documents."
    )
    warning = removal_warning(read_table(fine_tuning_path, FINE_TUNING))
    save_figure(figure, pictures, "\n".join([label.line, note, *warning]))
