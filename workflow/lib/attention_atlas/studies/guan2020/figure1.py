"""Figure 1: two typical maps and the distance features of each type of head."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from attention_atlas.figures.head_grid import draw_cells
from attention_atlas.figures.style import PAGE, SEQUENTIAL, SMALLEST, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table
from attention_atlas.methods.distance_features import FEATURES
from attention_atlas.methods.head_type_names import TITLES, shown_types
from attention_atlas.studies.guan2020.type_styles import COLOURS

_LABELS = {"cls": "[CLS]", "sep": "[SEP]", "comma": "comma", "period": "stop", "self": "self"}
_RANKS = (1, 2)


def figure1(
    maps_path: str | Path,
    types_path: str | Path,
    summary_path: str | Path,
    label: RunLabel,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw a column for each type: two maps of one example, and the box plot of the 21 features over all heads of the type.

    Args:
        maps_path: of `draw_maps`.
        types_path: head_types.tsv.
        summary_path: of `cluster_heads`.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    maps = read_table(maps_path, ["type", "rank", "layer", "head", "query", "key", "key_token", "weight"])
    types = read_table(types_path, ["type", "layer", "head"])
    present = [name for name in shown_types(types["type"]) if (types["type"] == name).any()]
    sizes = {"height_ratios": [1, 1, 1.55]}
    figure, axes = page_figure(3, len(present), min(PAGE, 1.75 * len(present) + 0.7), 6.4, **sizes)
    for column, name in enumerate(present):
        type_heads = types[types["type"] == name]
        for row, rank in enumerate(_RANKS):
            _draw_map(axes[row, column], maps[(maps["type"] == name) & (maps["rank"] == rank)], column == 0)
        _draw_features(axes[2, column], type_heads, COLOURS[name], column == 0)
        first = axes[0, column].get_title(loc="left")
        axes[0, column].set_title("\n".join(filter(None, [TITLES[name], f"{len(type_heads)} heads", first])))
    top = max(axis.get_xlim()[1] for axis in axes[2])
    for axis in axes[2]:
        axis.set_xlim(0, top)
    pieces = int(maps["query"].max())
    examples = int(read_quantities(summary_path)["examples"])
    save_figure(figure, pictures, footnote(label, f"maps: one example of {pieces} tokens; boxes: n = {examples} questions"))


def _draw_map(axes: Axes, cells: pd.DataFrame, outer: bool) -> None:
    if cells.empty:
        axes.axis("off")
        return
    weights = cells.pivot(index="query", columns="key", values="weight")
    size = len(weights)
    draw_cells(axes, weights.to_numpy(float) ** 0.5, SEQUENTIAL, 0, 1)
    axes.set_aspect("equal")
    axes.set_title(f"head {cells['layer'].iloc[0]}-{cells['head'].iloc[0]}")
    # The first separator would stand over [CLS] where a question is short: the last one is named.
    last = cells.loc[(cells["query"] == 1) & cells["key_token"].isin(["[SEP]", "</s>"]), "key"]
    names = {1: "[CLS]" if cells["key_token"].iloc[0] == "[CLS]" else "1", size: "[SEP]" if size in set(last) else str(size)}
    axes.set_xticks([place - 0.5 for place in names], list(names.values()), fontsize=SMALLEST)
    axes.set_yticks([0.5, size - 0.5], ["1", str(size)] if outer else ["", ""], fontsize=SMALLEST)
    axes.set(xlabel="Key token", ylabel="Query token" if outer else "")


def _draw_features(axes: Axes, type_heads: pd.DataFrame, colour: str, outer: bool) -> None:
    names = {name: _LABELS.get(name) or str(int(name.removeprefix("window_")) + 1) for name in FEATURES}
    tidy = type_heads[list(FEATURES)].melt(var_name="feature", value_name="share")
    box = {"linewidth": 0.5, "fliersize": 1.2, "width": 0.7, "saturation": 1}
    sns.boxplot(tidy, x="share", y="feature", order=list(FEATURES), color=colour, ax=axes, **box)
    axes.set_yticks(range(len(FEATURES)), list(names.values()) if outer else [""] * len(FEATURES), fontsize=SMALLEST)
    axes.set(xlabel="Share of attention", ylabel="Special tokens, self, windows 1 to 16" if outer else "")
