"""Figure 4: the type of every head in models that were trained for different tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import save_figure, use_style
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_type_names import TITLES, TYPES, UNNAMED, shown_types
from attention_atlas.studies.guan2020.names import FITS, STUDY_MODEL, model_title
from attention_atlas.studies.guan2020.type_styles import COLOURS

_ALL = (*TYPES, UNNAMED)
_FIT_TITLES = {"reused": "types of the SQuAD model", "refitted": "clusters of its own"}


def figure4(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw a grid of layers and heads for every model: by the types of the study's model, and by clusters of the model itself.

    Args:
        path: of `compare_models`.
        labels: name of a compared model -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["model", "fit", "layer", "head", "type"])
    names = list(dict.fromkeys(table["model"]))
    shown = shown_types(table["type"])
    layers, heads = int(table["layer"].max()), int(table["head"].max())
    use_style()
    figure, axes = plt.subplots(
        len(FITS),
        len(names),
        figsize=(0.155 * heads * len(names) + 1.6, 0.31 * layers + 2.2),
        constrained_layout=True,
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for row, fit in enumerate(FITS):
        for column, name in enumerate(names):
            panel_heads = table[(table["model"] == name) & (table["fit"] == fit)]
            _grid(axes[row, column], panel_heads)
            same = "" if name == STUDY_MODEL else f", {same_type_share(table, name, fit):.0%} as SQuAD"
            axes[row, column].set_title(f"{model_title(name)}{same}\n{_FIT_TITLES[fit]}", fontsize=8)
        axes[row, 0].set_ylabel("Layer")
    for axis in axes[-1]:
        axis.set_xlabel("Head")
    figure.legend(
        handles=[Patch(color=COLOURS[name], label=TITLES[name]) for name in shown],
        loc="outside upper center",
        ncols=len(shown),
    )
    footnote = [*joint_lines(labels.values()), f"n = {layers * heads} heads of each model."]
    save_figure(figure, pictures, "\n".join(footnote))


def _grid(axes: Axes, heads_of_model: pd.DataFrame) -> None:
    numbers = heads_of_model.assign(number=[_ALL.index(name) for name in heads_of_model["type"]]).pivot(
        index="layer", columns="head", values="number"
    )
    layers, heads = numbers.shape
    colours = ListedColormap([COLOURS[name] for name in _ALL])
    norm = BoundaryNorm([k - 0.5 for k in range(len(_ALL) + 1)], len(_ALL))
    axes.imshow(numbers, cmap=colours, norm=norm, extent=(0.5, heads + 0.5, layers + 0.5, 0.5), aspect="auto")
    axes.set_xticks([k + 0.5 for k in range(heads)], minor=True)
    axes.set_yticks([k + 0.5 for k in range(layers)], minor=True)
    axes.grid(which="minor", color="white", linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))


def same_type_share(table: pd.DataFrame, name: str, fit: str) -> float:
    """Share of heads of a model with the same type as in the study's model."""
    keyed = table[table["fit"] == fit].set_index(["layer", "head"])
    reference = keyed.loc[keyed["model"] == STUDY_MODEL, "type"]
    compared = keyed.loc[keyed["model"] == name, "type"]
    return float((reference == compared.reindex(reference.index)).mean())
