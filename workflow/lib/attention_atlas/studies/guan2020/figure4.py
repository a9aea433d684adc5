"""Figure 4: the type of every head in models that were trained for different tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from attention_atlas.figures.head_grid import draw_cells, number_ticks
from attention_atlas.figures.quantities import HEAD, LAYER
from attention_atlas.figures.style import PAGE, SMALLEST, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_type_names import TITLES, TYPES, UNNAMED, shown_types
from attention_atlas.studies.guan2020.names import FITS, STUDY_MODEL, model_title
from attention_atlas.studies.guan2020.type_styles import COLOURS

_ALL = (*TYPES, UNNAMED)
_ROOMY = 4
"""Models up to which there is space for long titles of the usual size."""
_FIT_TITLES = {"reused": "SQuAD types", "refitted": "Refitted clusters"}


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
    columns = max(len(names), 3)
    height = 2 * max(0.9, 0.1 * layers) + 1.5
    figure, axes = page_figure(len(FITS), len(names), min(PAGE, 1.75 * columns), height)
    for row, fit in zip(axes, FITS, strict=True):
        for axis, name in zip(row, names, strict=True):
            panel_heads = table[(table["model"] == name) & (table["fit"] == fit)]
            _grid(axis, panel_heads)
            same = "" if name == STUDY_MODEL else f"\n{_same_type_text(table, name, fit)}"
            axis.set_title(f"{model_title(name)}{same}", fontsize=7 if len(names) <= _ROOMY else SMALLEST)
        row[0].set_ylabel(f"{_FIT_TITLES[fit]}\n{LAYER}")
    for axis in axes[-1]:
        axis.set_xlabel(HEAD)
    handles = [Patch(color=COLOURS[name], label=TITLES[name]) for name in shown]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(shown))
    save_figure(figure, pictures, footnote(labels.values(), f"n = {layers * heads} heads of each model"))


def _grid(axes: Axes, heads_of_model: pd.DataFrame) -> None:
    numbers = heads_of_model.assign(number=[_ALL.index(name) for name in heads_of_model["type"]]).pivot(
        index="layer", columns="head", values="number"
    )
    layers, heads = numbers.shape
    colours = ListedColormap([COLOURS[name] for name in _ALL])
    draw_cells(axes, numbers.to_numpy(float), colours, -0.5, len(_ALL) - 0.5)
    number_ticks(axes, "x", heads, 4)
    number_ticks(axes, "y", layers, 8)


def _same_type_text(table: pd.DataFrame, name: str, fit: str) -> str:
    share, number = same_type(table, name, fit)
    if not number:
        return "no head has\na type in both"
    if table["model"].nunique() > _ROOMY:
        return f"same as {model_title(STUDY_MODEL)}:\n{100 * share:.0f} % (n = {number})"
    return f"same type as {model_title(STUDY_MODEL)}:\n{100 * share:.0f} % of {number} heads"


def same_type(table: pd.DataFrame, name: str, fit: str) -> tuple[float, int]:
    """Share of heads of a model with the same type as in the study's model, among those that have a type in both; their number.

    A head of a cluster that fits no type has no type to share: the share is NaN if no head has a type in both models.
    """
    keyed = table[table["fit"] == fit].set_index(["layer", "head"])
    reference = keyed.loc[keyed["model"] == STUDY_MODEL, "type"]
    compared = keyed.loc[keyed["model"] == name, "type"].reindex(reference.index)
    named = (reference != UNNAMED) & (compared != UNNAMED)
    return float((reference == compared)[named].mean()), int(named.sum())
