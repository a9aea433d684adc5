"""Figure 7: attention of [CLS] in the last layer to tokens with a feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from attention_atlas.figures.head_grid import draw_cells, number_ticks
from attention_atlas.figures.quantities import HEAD
from attention_atlas.figures.style import NOTE, PAGE, SEQUENTIAL, SMALLEST, TALLEST, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES
from attention_atlas.studies.kovaleva2019.published_maps import PUBLISHED, PUBLISHED_MODEL, digitised
from attention_atlas.studies.kovaleva2019.task_grids import count_range
from attention_atlas.studies.kovaleva2019.task_panels import columns_of
from attention_atlas.studies.kovaleva2019.word_features import AS_PUBLISHED, CORRECTED

_FEATURES = {
    "pron": "pronoun",
    "noun": "noun",
    "verb": "verb",
    "obj": "object",
    "subj": "subject",
    "neg": "negation",
    "punct": "punctuation",
    "cls": "[CLS]",
    "sep": "[SEP]",
}
_KINDS = {AS_PUBLISHED: "By spelling", CORRECTED: "By word", PUBLISHED: f"Published\n({PUBLISHED_MODEL})"}
_LARGEST = 0.5
"""Weight above which all cells have the same colour."""
_ROW = 0.125
"""Height of a feature in inches."""


def figure7(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the attention of [CLS] in the last layer to tokens with a feature, with the number of examples that have it.

    Args:
        path: of `change_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ["task", "mode", "feature", "head", "value", "n"])
    tasks = list(dict.fromkeys(table["task"]))
    table = table[table["value"].notna()]
    rows = pd.concat([table, _published()], ignore_index=True)
    features = [name for name in _FEATURES if (rows["feature"] == name).any()]
    columns = columns_of(len(tasks))
    bands = [tasks[start : start + columns] for start in range(0, len(tasks), columns)]
    height = len(bands) * (len(_KINDS) * (_ROW * len(features) + 0.1) + 0.5) + 0.7
    figure, grid = page_figure(len(_KINDS) * len(bands), columns, PAGE, min(height, TALLEST))
    image: QuadMesh | None = None
    for band, shown in enumerate(bands):
        panels = grid[len(_KINDS) * band : len(_KINDS) * (band + 1)]
        for row, (kind, title) in zip(panels, _KINDS.items(), strict=True):
            for axis, task in zip(row, shown, strict=False):
                cells = rows[(rows["task"] == task) & (rows["mode"] == kind)]
                image = _draw(axis, cells, features) or image
                axis.set_xlabel(HEAD if kind == PUBLISHED else "")
                if kind == AS_PUBLISHED:
                    axis.set_title(TASK_TITLES[task])
            places = [place + 0.5 for place in range(len(features))]
            row[0].set_yticks(places, [_FEATURES[name] for name in features], fontsize=SMALLEST + 0.5)
            row[0].set_ylabel(title)
            for axis in row[len(shown) :]:
                axis.axis("off")
    if image is not None:
        bar = figure.colorbar(image, ax=grid, location="bottom", shrink=0.5, aspect=40, extend="max", pad=0.01)
        bar.set_label("Attention weight of [CLS]; beside each row: number of examples")
    examples = count_range(table.groupby("task")["n"].max()) if len(table) else ""
    save_figure(figure, pictures, footnote(labels.values(), f"{examples} examples per task"))


def _draw(axes: Axes, cells: pd.DataFrame, features: Sequence[str]) -> QuadMesh | None:
    """Draw a panel; None where there are no values."""
    if cells.empty:
        axes.text(0.5, 0.5, "no values", ha="center", va="center", color=NOTE, transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return None
    values = cells.pivot(index="feature", columns="head", values="value").reindex(features).to_numpy(float)
    image = draw_cells(axes, values, SEQUENTIAL, 0, _LARGEST)
    heads = values.shape[1]
    number_ticks(axes, "x", heads, 4)
    counts = cells.groupby("feature")["n"].max()
    for place, name in enumerate(features):
        n = counts.get(name)
        if n is not None and pd.notna(n):
            axes.text(1.03 * heads, place + 0.5, f"{int(n)}", va="center", fontsize=SMALLEST, color=NOTE)
    return image


def _published() -> pd.DataFrame:
    """The values read off the paper's figure, in the columns of our table; their numbers of examples are unknown."""
    table = digitised("fig7_cls_last_layer").rename(columns={"weight": "value"})
    return table.assign(mode=PUBLISHED, feature=table["feature"].str.lower().str.strip("[]"))
