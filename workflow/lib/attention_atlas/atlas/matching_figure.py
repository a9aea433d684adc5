"""Figure of matched heads: agreement on measures by which they were not matched, before that of heads matched at random."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from attention_atlas.atlas.matching import AGREEMENT, DEPTH, MEAN
from attention_atlas.atlas.measures import SOURCES
from attention_atlas.figures.style import BLUE, GREY, ORANGE, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_TITLES = {measure.name: measure.title for source in SOURCES for measure in source.measures}
_TITLES |= {DEPTH: "Layer", MEAN: "Mean of the measures"}


def matching_figure(agreement: str | Path, first: str, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw a panel a compared model: a row a measure, a point for the agreement, a bar for heads matched at random.

    Args:
        agreement: table of `matching.write_matching`.
        first: the model that the others are compared with.
        label: run and sentences.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(agreement, AGREEMENT)
    use_style()
    models = list(dict.fromkeys(table["model"]))
    names = [name for name in dict.fromkeys(table["measure"]) if name != MEAN] + [MEAN]
    columns = min(len(models), 3) or 1
    height = -(-max(len(models), 1) // columns)
    figure, axes = plt.subplots(
        height, columns, figsize=(3.2 + 2.5 * columns, height * (0.24 * len(names) + 0.9) + 0.5),
        constrained_layout=True, squeeze=False, sharex=True, sharey=True,
    )  # fmt: skip
    for axis, model in zip(axes.flat, models, strict=False):
        rows = table[table["model"] == model].set_index("measure").reindex(names)
        colour = ORANGE if (rows["random_weights"].dropna() == True).any() else BLUE  # noqa: E712
        place = np.arange(len(names))
        axis.barh(place, rows["null_high"] - rows["null_low"], left=rows["null_low"], height=0.72, color=GREY, alpha=0.35)
        axis.plot(rows["agreement"], place, "o", color=colour, markersize=5)
        axis.axvline(0, color=GREY, linewidth=0.8)
        axis.set_title(model, fontsize=8.5)
        axis.set_yticks(place, [_TITLES.get(name, name) for name in names])
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(-1.05, 1.05)
        axis.set_xticks([-1, -0.5, 0, 0.5, 1])
        axis.tick_params(labelsize=7.5, length=0)
    for axis in axes.flat[len(models) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("Rank correlation over matched heads", fontsize=7.5)
    note = (
        f"Heads of each model are matched with those of {first} by all measures but the one in the row, and those that go\n"
        "together with it by definition. A point: agreement on that measure; a bar: 95 % of matchings at random.\n"
        "Orange: random weights."
    )
    save_figure(figure, pictures, f"{label.line}\n{note}")
