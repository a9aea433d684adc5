"""Figure 3: the score by percent of heads masked, in several orders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.figures.style import BLACK, BLUE, GREY, PURPLE, SKY, VERMILION, panels, save_figure
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.studies.michel2019.curves import FIGURE3, mean_curves
from attention_atlas.studies.michel2019.figure_style import SCORE_LABELS
from attention_atlas.studies.michel2019.names import ABLATION, HELDOUT, IMPORTANCE, ORDER_TITLES, RANDOM, RECOMPUTED, TITLES

_LINES = {
    IMPORTANCE: (BLUE, "-", "o"),
    RECOMPUTED: (SKY, "-", "D"),
    ABLATION: (VERMILION, "--", "s"),
    HELDOUT: (PURPLE, ":", "^"),
    RANDOM: (GREY, "-.", ""),
}


def figure3(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the score by percent of heads masked, for each order.

    Args:
        path: `FIGURE3` of `curves.pruning_curves`.
        labels: role -> model and corpus of the run.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE3)
    figure, axes = panels(4.3, 3.6)
    for axis, (name, curves) in zip(axes, mean_curves(table).groupby("experiment", sort=False), strict=True):
        for order in (order for order in _LINES if (curves["order"] == order).any()):
            rows = curves[curves["order"] == order].sort_values("percent")
            colour, dashes, mark = _LINES[order]
            style = {"color": colour, "linestyle": dashes, "marker": mark, "markersize": 3, "linewidth": 1.3}
            axis.plot(rows["percent"], rows["score"], label=ORDER_TITLES[order], **style)
            if order in (RANDOM, IMPORTANCE):
                axis.fill_between(rows["percent"], rows["ci_low"], rows["ci_high"], color=colour, alpha=0.18, linewidth=0)
        floor = curves["floor"].iloc[0]
        if floor > 0:
            axis.axhline(floor, color=BLACK, linewidth=0.8, linestyle=":", label=f"Most frequent label: {floor:.0f}")
        axis.set_title(TITLES[str(name)])
        axis.set_xlabel("Heads masked, %")
        axis.set_ylabel(SCORE_LABELS[curves["metric"].iloc[0]])
        axis.set_ylim(bottom=0)
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=7.5)
    groups = table.drop_duplicates("experiment")
    facts = "; ".join(f"{TITLES[row.experiment]}: {row.heads} heads, n = {row.n} examples" for row in groups.itertuples())
    draws = table.loc[table["order"] == RANDOM, "draw"].nunique()
    note = (
        f"{facts}. Bands: 95 % interval by bootstrap over examples for importance; least and most of {draws} random orders, "
        "their mean as line."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines([labels[TRANSLATION], labels[CLASSIFICATION]]), note]))
