"""Figure of the compared models: each measure of all heads, by model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill, wrap
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.ticker import MaxNLocator

from attention_atlas.atlas.compared import mean_over_heads, read_compared_measures
from attention_atlas.atlas.correlations import Draws
from attention_atlas.atlas.measures import SOURCES
from attention_atlas.figures.style import BLACK, NOTE, PAGE, PALETTE, TALLEST, footnote, page_figure, plain, save_figure
from attention_atlas.io.run_label import RunLabel

_TITLES = {measure.name: measure for source in SOURCES for measure in source.measures}
_SHOWN = (
    *("entropy", "to_sep", "to_cls", "to_next", "to_previous", "to_itself", "to_punctuation", "relation_margin"),
    *("duplicate_token", "induction", "ov_copying", "norm_sink"),
)
_COLUMNS = 4
_TALLEST_ROWS = TALLEST - 0.6
_LINE, _NAME_LINE = 27, 20
"""Characters per line of an axis title, and of a model's name."""


def models_figure(
    models: Sequence[Mapping[str, Any]], draws: Draws, label: RunLabel, pictures: Mapping[str, str | Path]
) -> None:
    """Draw each measure of all heads by model, with the mean and its interval.

    Mean, interval and chance are the unrounded values of models.tsv. If many models leave too little room, the last measures
    are only in models.tsv.

    Args:
        models: attributes of `ComparedModel` for each model, the run's model first.
        draws: settings of the bootstrap, as for models.tsv.
        label: label of model and sentences.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    _, measured = read_compared_measures(models)
    tables = {name: measures.table for name, measures in measured.items()}
    chance = {name: measures.known_chances() for name, measures in measured.items()}
    names = [name for name in _SHOWN if any(name in table for table in tables.values())]
    model_titles = [wrap(model, _NAME_LINE, max_lines=4, placeholder="…") for model in tables]
    model_height = max(0.32, 0.04 + 0.12 * max(map(len, model_titles)))
    row_height = model_height * len(tables) + 1.0
    rows = min(-(-len(names) // _COLUMNS), max(2, int(_TALLEST_ROWS / row_height)))
    names = names[: rows * _COLUMNS]
    height = min(row_height * rows + 0.2, _TALLEST_ROWS)
    figure, axes = page_figure(rows, _COLUMNS, PAGE - 0.05, height, sharey=True)
    colours = dict(zip(tables, PALETTE, strict=False))
    for axis, name in zip(axes.flat, names, strict=False):
        for place, (model, table) in enumerate(tables.items()):
            if name not in table:
                style = {"transform": axis.get_yaxis_transform(), "color": NOTE, "fontsize": 7}
                axis.text(0.5, place, "not measured", ha="center", va="center", **style)
                continue
            # Spread evenly over the row so that heads do not overlap; random offsets would change between runs.
            spread = place + 0.3 * np.sin(np.arange(len(table)) * 2.4)
            sns.scatterplot(x=table[name], y=spread, s=7, color=colours[model], alpha=0.6, linewidth=0, ax=axis)
            if name in chance[model]:
                axis.plot([chance[model][name]] * 2, [place - 0.45, place + 0.45], color=NOTE, linestyle="--", linewidth=0.9)
            mean, low, high = mean_over_heads(table[name], draws)
            axis.plot([low, high], [place, place], color=BLACK, linewidth=1.8)
            axis.plot(mean, place, "D", color=BLACK, markersize=3.5)
        measure = _TITLES[name]
        axis.set_xlabel(fill(f"{measure.title} ({measure.unit})", _LINE), fontsize=7)
        axis.set_ylabel("")
        axis.set_yticks(range(len(tables)), [plain("\n".join(lines)) for lines in model_titles])
        axis.set_ylim(len(tables) - 0.5, -0.5)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=4))
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    sizes = list(dict.fromkeys(str(len(table)) for table in tables.values()))
    models_label = replace(label, model=f"{len(tables)} models")
    drawn_chance = (
        "; dashed: value of a head without the effect" if any(set(names) & set(known) for known in chance.values()) else ""
    )
    save_figure(figure, pictures, footnote(models_label, f"n = {' or '.join(sizes)} heads per model{drawn_chance}"))
