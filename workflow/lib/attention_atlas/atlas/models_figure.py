"""Figure of the compared models: each measure of all heads, model beside model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from attention_atlas.atlas.compared import mean_over_heads, read_compared
from attention_atlas.atlas.correlations import Draws
from attention_atlas.atlas.measures import SOURCES
from attention_atlas.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, save_figure, use_style
from attention_atlas.io.run_label import RunLabel

_TITLES = {measure.name: measure for source in SOURCES for measure in source.measures}
_SHOWN = ("entropy", "to_sep", "to_cls", "to_next", "to_previous", "to_itself", "to_punctuation", "relation_margin")


def models_figure(
    models: Sequence[Mapping[str, Any]], draws: Draws, label: RunLabel, pictures: Mapping[str, str | Path]
) -> None:
    """Draw each measure of all heads, model beside model, with the mean and its interval.

    Mean and interval are those of models.tsv, before that rounds them.

    Args:
        models: attributes of `ComparedModel` for each model, the run's model first.
        draws: of the bootstrap, as for models.tsv.
        label: model and sentences.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    _, tables = read_compared(models)
    use_style()
    names = [name for name in _SHOWN if any(name in table for table in tables.values())]
    columns = 4
    height = -(-len(names) // columns)
    figure, axes = plt.subplots(height, columns, figsize=(10.4, 2.5 * height + 0.3), constrained_layout=True, squeeze=False)
    colours = dict(zip(tables, (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY), strict=False))
    for axis, name in zip(axes.flat, names, strict=False):
        for place, (model, table) in enumerate(tables.items()):
            if name not in table:
                axis.text(0.5, place, "not measured", transform=axis.get_yaxis_transform(), ha="center", color=GREY)
                continue
            # Spread over the row, so that heads do not hide each other.
            spread = place + 0.3 * np.sin(np.arange(len(table)) * 2.4)
            axis.scatter(table[name], spread, s=9, color=colours[model], alpha=0.6, linewidths=0)
            mean, low, high = mean_over_heads(table[name], draws)
            axis.plot([low, high], [place, place], color="black", linewidth=2.2)
            axis.plot(mean, place, "D", color="black", markersize=4)
        measure = _TITLES[name]
        axis.set_xlabel(f"{measure.title}\n({measure.unit})", fontsize=7.5)
        first = axis in axes[:, 0]
        axis.set_yticks(range(len(tables)), list(tables) if first else [""] * len(tables))
        axis.set_ylim(len(tables) - 0.5, -0.5)
        axis.tick_params(labelsize=7.5)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    counts = ", ".join(f"{model} {len(table)}" for model, table in tables.items())
    note = f"A point a head (heads: {counts}); diamond and bar: mean and its 95 % interval over heads (bootstrap)."
    save_figure(figure, pictures, f"{label.line}\n{note}")
