"""Figure 2: average attention to [CLS], [SEP] and punctuation, and from [SEP] to [SEP]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.figures.by_layer import draw_by_layer, draw_range, layer_legend, range_label, values_from_zero
from attention_atlas.figures.quantities import (
    ATTENTION,
    OTHERS_TO_SEP,
    SEP_TO_SEP,
    TO_CLS,
    TO_PUNCTUATION,
    TO_SEP,
)
from attention_atlas.figures.style import BLACK, PAGE, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.surface import TARGETS
from attention_atlas.published.drawn import published_column
from attention_atlas.studies.clark2019.names import PUBLISHED_MODEL
from attention_atlas.studies.clark2019.sink import special_token_shares

TRAINED, RANDOM = "trained", "random"
PANELS = {
    "cls": TO_CLS,
    "sep": TO_SEP,
    "punct": TO_PUNCTUATION,
    "rest_sep": OTHERS_TO_SEP,
    "sep_sep": SEP_TO_SEP,
}
"""Target (a measure of the surface) -> how it is drawn."""
_COLUMNS = 3


def figure2(
    surface_path: str | Path,
    random_path: str | Path | None,
    label: RunLabel,
    out: str | Path,
    pictures: Mapping[str, str | Path],
) -> None:
    """Write the plotted numbers and draw a panel for each target.

    Args:
        surface_path: measures of all heads of the run's model.
        random_path: the same of the model with random weights, None where the run names none.
        label: run, model and corpus.
        out: target, layer, head, mean_attention, ci_low, ci_high, n, unit, units, weights (trained or random).
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = _targets(surface_path).assign(weights=TRAINED)
    random = None if random_path is None else _targets(random_path).assign(weights=RANDOM)
    every = table if random is None else pd.concat([table, random], ignore_index=True)
    write_table(every, out)
    published = published_column("clark2019", "surface", "mean(value)").rename(columns={"measure": "target"})
    published = published[published["target"].isin(PANELS)]
    figure, grid = page_figure(2, _COLUMNS, PAGE, 4.2, sharex=True, sharey=True)
    for axes, (target, drawn) in zip(grid.flat, PANELS.items(), strict=False):
        if random is not None:
            draw_range(axes, random, [(target, drawn)], "target", "mean_attention")
        draw_by_layer(axes, table, [(target, drawn)], "target", "mean_attention", published)
        axes.set_title(drawn.title)
    values_from_zero(grid[0, 0], [*every["mean_attention"], *published["value"]])
    for row in grid:
        row[0].set_ylabel(ATTENTION.axis)
    # The last slot of the grid holds the legend; the panel above it shows its layers.
    grid[0, -1].tick_params(labelbottom=True)
    grid[0, -1].xaxis.label.set_visible(True)
    grid[-1, -1].axis("off")
    height = grid[0, 0].get_ylim()[1]
    bands = "" if random is None else range_label(random, "target", "mean_attention", height)
    handles = layer_legend([TO_SEP], bands, PUBLISHED_MODEL)
    for handle in [*handles[:2], handles[-1]]:
        handle.set_color(BLACK)
    grid[-1, -1].legend(handles=handles, loc="center left", bbox_to_anchor=(0, 0.5))
    heads = len(table[["layer", "head"]].drop_duplicates())
    count = f"n = {int(table['n'].max())} segments, {heads} heads"
    tokens = special_token_shares(table.rename(columns={"target": "measure", "mean_attention": "value"}))
    named = f"special tokens by attention from layer 2 on: {tokens}" if tokens else ""
    save_figure(figure, pictures, footnote(label, "; ".join(filter(None, [count, named]))))


def _targets(path: str | Path) -> pd.DataFrame:
    surface = read_table(path, ["measure", "layer", "head", "value", "ci_low", "ci_high", "n"])
    return surface[surface["measure"].isin(TARGETS)].rename(columns={"measure": "target", "value": "mean_attention"})
