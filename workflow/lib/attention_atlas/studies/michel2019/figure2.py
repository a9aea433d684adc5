"""Figure 2: change in score when each head is masked, on two corpora, with correlations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from attention_atlas.figures.style import BLACK, GREY, panels, save_figure
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.michel2019.correlations import CORRELATIONS, FIGURE2, PEARSON, SPEARMAN, TRIMMED, in_words
from attention_atlas.studies.michel2019.figure_style import KIND_COLOURS, KIND_MARKERS
from attention_atlas.studies.michel2019.names import KIND_TITLES, SAME_FILE, TITLES

_STATISTICS = {PEARSON: "Pearson", SPEARMAN: "Spearman", TRIMMED: "Pearson without extremes"}
_LINE = 44
"""Letters of a line of a label."""


def figure2(
    path: str | Path, correlations_path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]
) -> None:
    """Draw the change in score when each head is masked on one corpus against that on another.

    Args:
        path: `FIGURE2` of `correlations`.
        correlations_path: `CORRELATIONS` of `correlations`.
        labels: role -> model and corpus of the run.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table, agreement = read_table(path, FIGURE2), read_table(correlations_path, CORRELATIONS)
    figure, axes = panels(4.1, 4.2)
    for axis, (name, points) in zip(axes, table.groupby("experiment", sort=False), strict=True):
        for kind in (kind for kind in KIND_COLOURS if (points["kind"] == kind).any()):
            kind_points = points[points["kind"] == kind]
            style = {"s": 16, "color": KIND_COLOURS[kind], "marker": KIND_MARKERS[kind], "alpha": 0.75, "linewidths": 0}
            axis.scatter(kind_points["delta"], kind_points["second_delta"], label=KIND_TITLES[kind], **style)
        extreme = points[points["extreme"] == 1]
        axis.scatter(
            extreme["delta"],
            extreme["second_delta"],
            s=52,
            facecolors="none",
            edgecolors=BLACK,
            linewidths=0.8,
            label="Extreme",
        )
        for line in (axis.axhline, axis.axvline):
            line(0, color=GREY, linewidth=0.6, zorder=0)
        unit = "BLEU" if points["metric"].iloc[0] == "BLEU" else "Accuracy, points"
        axis.set_xlabel(fill(f"{unit}: {labels[str(name)].corpus}", _LINE))
        axis.set_ylabel(fill(f"{unit}: {labels[f'{name}_other'].corpus}", _LINE))
        words = [
            f"{_STATISTICS[row.statistic]} {in_words(row.value, row.ci_low, row.ci_high)}"
            for row in agreement[agreement["experiment"] == name].itertuples()
        ]
        axis.set_title(TITLES[str(name)] + "\n" + "\n".join(words), fontsize=8.5)
        axis.legend(loc="best", fontsize=7.5)
    sizes = agreement.drop_duplicates("experiment")
    left = agreement[agreement["statistic"] == TRIMMED].set_index("experiment")["heads"]
    examples = "; ".join(
        f"{TITLES[row.experiment]}: n = {row.n} and {row.second_n} examples, {row.heads} heads, {left[row.experiment]} of them "
        "not extreme" + (f"; the second data are {SAME_FILE}" if row.second_data == SAME_FILE else "")
        for row in sizes.itertuples()
    )
    note = (
        "Each point is one head: the change in score when it is masked, on two corpora. Correlations over heads with 95 % "
        f"intervals by bootstrap over heads. {examples}. Heads tied with an extreme one are extreme as well."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines(labels.values()), note]))
