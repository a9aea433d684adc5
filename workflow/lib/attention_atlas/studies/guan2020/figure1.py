"""Figure 1: two typical maps and the distance features of each type of head."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from attention_atlas.figures.style import save_figure, use_style
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
    use_style()
    figure, axes = plt.subplots(
        3, len(present), figsize=(2.85 * len(present), 8.2), constrained_layout=True, height_ratios=[1, 1, 0.95], squeeze=False
    )
    for column, name in enumerate(present):
        for row, rank in enumerate(_RANKS):
            _draw_map(axes[row, column], maps[(maps["type"] == name) & (maps["rank"] == rank)])
        type_heads = types[types["type"] == name]
        _draw_features(axes[2, column], type_heads, COLOURS[name])
        axes[0, column].set_title(f"{TITLES[name]} ({len(type_heads)} heads)\n{axes[0, column].get_title()}", color="black")
    for row in axes[:2]:
        row[0].set_ylabel("Attending piece")
    axes[2, 0].set_ylabel("Share of attention")
    top = max(axis.get_ylim()[1] for axis in axes[2])
    for axis in axes[2]:
        axis.set_ylim(0, top)
    pieces = int(maps["query"].max())
    examples = int(read_quantities(summary_path)["examples"])
    footnote = (
        f"{label.line}\nMaps: the two heads next to the mean of each type, on one example of {pieces} pieces; square-root "
        f"colour scale. Boxes: features of all heads of the type, means over n = {examples} examples; window 1 is the nearest."
    )
    save_figure(figure, pictures, footnote)


def _draw_map(axes: Axes, cells: pd.DataFrame) -> None:
    if cells.empty:
        axes.axis("off")
        return
    weights = cells.pivot(index="query", columns="key", values="weight")
    size = len(weights)
    axes.imshow(weights.to_numpy() ** 0.5, cmap="Blues", vmin=0, vmax=1, extent=(0.5, size + 0.5, size + 0.5, 0.5))
    axes.set_title(f"head {cells['layer'].iloc[0]}-{cells['head'].iloc[0]}")
    axes.set_xlabel("Piece attended to")
    sep_positions = cells.loc[(cells["query"] == 1) & (cells["key_token"].isin(["[SEP]", "</s>"])), "key"].tolist()
    axes.set_xticks(
        [1, *sep_positions], ["[CLS]" if cells["key_token"].iloc[0] == "[CLS]" else "1", *["[SEP]"] * len(sep_positions)]
    )
    axes.set_yticks([1, size])
    axes.spines[["top", "right"]].set_visible(True)


def _draw_features(axes: Axes, type_heads: pd.DataFrame, colour: str) -> None:
    boxes = axes.boxplot(
        type_heads[list(FEATURES)].to_numpy(float),
        widths=0.65,
        patch_artist=True,
        medianprops={"color": "black"},
        flierprops={"markersize": 2.5},
    )
    for box in boxes["boxes"]:
        box.set(facecolor=colour, alpha=0.75, linewidth=0.7)
    labels = [_LABELS.get(name) or str(int(name.removeprefix("window_")) + 1) for name in FEATURES]
    axes.set_xticks(range(1, len(FEATURES) + 1), labels, rotation=90, fontsize=7)
    axes.set_xlabel("Special pieces, self, windows 1 to 16")
