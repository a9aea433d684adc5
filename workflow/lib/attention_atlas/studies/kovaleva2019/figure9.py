"""Figure 9: change in the score of each task when a whole layer is disabled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.quantities import LAYER, LOSS, UNCHANGED
from attention_atlas.figures.style import BLACK, PUBLISHED, footnote, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import LEVEL
from attention_atlas.studies.kovaleva2019.points import POINTS
from attention_atlas.studies.kovaleva2019.published_maps import PUBLISHED_MODEL, digitised
from attention_atlas.studies.kovaleva2019.task_grids import count_range
from attention_atlas.studies.kovaleva2019.task_panels import panel_title, task_panels

_SURE, _UNSURE = f"p < {LEVEL}, adjusted for all layers", "not significant"
_COLOURS = {_SURE: LOSS, _UNSURE: UNCHANGED}


_SEED: dict[str, Any] = {
    "color": BLACK,
    "marker": "o",
    "markersize": 2.6,
    "markerfacecolor": "white",
    "markeredgewidth": 0.5,
    "linestyle": "none",
}
_BESIDE = 0.22
"""Distance of the marks of seeds from the interval, in layers."""


def figure9(
    path: str | Path, by_seed_path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]
) -> None:
    """Draw the change in score by disabled layer for each task and seed, beside the published changes.

    Args:
        path, by_seed_path: of `disabling_tables`, means over seeds and each seed.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    columns = ["task", "action", "layer", "metric", "baseline", "delta", "ci_low", "ci_high", "p_adjusted", "n", "seeds"]
    table = read_table(path, columns)
    table = table[table["action"] == "uniform"]
    by_seed = read_table(by_seed_path, ["task", "kind", "layer", "head", "baseline", "value"])
    by_seed = by_seed[(by_seed["kind"] == "uniform") & by_seed["head"].isna()]
    by_seed = by_seed.assign(delta=by_seed["value"] - by_seed["baseline"])
    published = digitised("fig9_disable_layer")
    # A row of each task is its baseline.
    published = published[published["layer"] != "baseline"].astype({"layer": int})
    published = published.assign(delta=100 * published["delta_vs_baseline"])
    figure, panels = task_panels(list(dict.fromkeys(table["task"])), 2.1)
    for task, axis in panels.items():
        of_seeds, of_paper = (rows[rows["task"] == task] for rows in (by_seed, published))
        _draw(axis, table[table["task"] == task].sort_values("layer"), of_seeds, of_paper)
        axis.set_title(panel_title(task, table[table["task"] == task]), fontsize=7)
    figure.supylabel("Change in score", fontsize=8)
    handles = [
        *(Patch(facecolor=colour, label=name) for name, colour in _COLOURS.items()),
        Line2D([], [], color=BLACK, linewidth=0.8, label="95 % interval"),
        Line2D([], [], **_SEED, label="one seed"),
        Line2D([], [], **PUBLISHED, linestyle="none", label=f"published ({PUBLISHED_MODEL}, 12 layers)"),
    ]
    figure.legend(handles=handles, title=f"Change in score, {POINTS}", loc="outside lower center", ncols=3)
    n = count_range(table.drop_duplicates("task")["n"])
    save_figure(figure, pictures, footnote(labels.values(), f"{n} examples per task"))


def _draw(axes: Axes, layers: pd.DataFrame, by_seed: pd.DataFrame, published: pd.DataFrame) -> None:
    delta = layers["delta"]
    drawn = layers.assign(sure=np.where(layers["p_adjusted"] < LEVEL, _SURE, _UNSURE))
    style = {
        "native_scale": True,
        "dodge": False,
        "errorbar": None,
        "legend": False,
        "width": 0.7,
        "linewidth": 0,
        "saturation": 1,
    }
    sns.barplot(drawn, x="layer", y="delta", hue="sure", palette=_COLOURS, ax=axes, **style)
    interval = np.stack([delta - layers["ci_low"], layers["ci_high"] - delta]).clip(min=0)
    axes.errorbar(layers["layer"], delta, yerr=interval, fmt="none", ecolor=BLACK, elinewidth=0.8, capsize=1.5)
    if layers["seeds"].max() > 1:
        axes.plot(by_seed["layer"] + _BESIDE, by_seed["delta"], **_SEED)
    axes.plot(published["layer"], published["delta"], **PUBLISHED, linestyle="none")
    axes.axhline(0, color=BLACK, linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.set(xlabel=LAYER, ylabel="")
