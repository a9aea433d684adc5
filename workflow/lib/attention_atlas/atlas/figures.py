"""Figure of the atlas: correlations between measures of heads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from attention_atlas.atlas.correlations import CORRELATIONS, LEVEL
from attention_atlas.atlas.measures import MEASURES
from attention_atlas.figures.style import BLACK, DIVERGING, PAGE, SMALLEST, TALLEST, page_figure, plain, save_figure
from attention_atlas.io.tables import read_table
from attention_atlas.stats.simultaneous import too_few_draws

Pictures = Mapping[str, str | Path]
_LINE = 46
"""Characters per line of a title; a title has at most two lines."""
_ROW = 0.19
"""Inches per measure."""


def correlation_map(correlations: str | Path, measures: str | Path, line: str, pictures: Pictures) -> None:
    """Draw rank correlations of all measures, with similar measures side by side, and mark those significant within layers.

    Args:
        correlations: table of `correlations.write_correlations`.
        measures: measures.tsv, for titles.
        line: title of the run.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(correlations, CORRELATIONS)
    titles = read_table(measures, MEASURES).set_index("measure")["title"]
    values = _square(table, "spearman").fillna(0.0)
    values = values.mask(np.eye(len(values), dtype=bool), 1.0)
    names = _similar_side_by_side(values)
    figure, ((axis,),) = page_figure(1, 1, PAGE, min(_ROW * len(names) + 0.6, TALLEST - 0.8))
    sns.heatmap(
        values.loc[names, names],
        cmap=DIVERGING,
        vmin=-1,
        vmax=1,
        cbar_kws={"label": "Spearman correlation over heads", "shrink": 0.6, "pad": 0.02},
        ax=axis,
    )
    significant = _square(table.assign(marked=(table["p_holm"] < LEVEL).astype(float)), "marked")
    definitional = _square(table.assign(marked=table["definitional"].astype(float)), "marked")
    _mark(axis, significant.loc[names, names], "o", 2.0)
    _mark(axis, definitional.loc[names, names], "x", 3.0)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    places = np.arange(len(names)) + 0.5
    axis.set_xticks(places, numbers, rotation=90, fontsize=SMALLEST)
    labelled = [f"{_title(str(titles.get(name, name)))}  {number}" for name, number in zip(names, numbers, strict=True)]
    axis.set_yticks(places, labelled, rotation=0, fontsize=SMALLEST, linespacing=0.95)
    axis.tick_params(length=0)
    axis.set_xlabel("")
    axis.set_ylabel("")
    save_figure(figure, pictures, f"{line}: {_count(table)}.")


def _square(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of pairs as a symmetric matrix of measures."""
    names = list(dict.fromkeys([*table["measure_a"], *table["measure_b"]]))
    half = table.pivot(index="measure_a", columns="measure_b", values=column).reindex(index=names, columns=names)
    return half.combine_first(half.T).loc[names, names].copy()


def _similar_side_by_side(values: pd.DataFrame) -> list[str]:
    """Measures in the order of average linkage; the sign of a correlation is ignored."""
    names = [str(name) for name in values.columns]
    if len(names) <= 2:
        return names
    distances = np.clip(1 - np.abs(values.to_numpy()), 0, None)
    order = leaves_list(linkage(squareform(distances, checks=False), method="average"))
    return [names[place] for place in order]


def _mark(axis: Axes, marked: pd.DataFrame, marker: str, size: float) -> None:
    rows, columns = np.nonzero(marked.to_numpy() == 1)
    axis.plot(columns + 0.5, rows + 0.5, marker, color=BLACK, markersize=size, markeredgewidth=0.6)


def _title(title: str) -> str:
    return plain("\n".join(wrap(title, _LINE, max_lines=2, placeholder=" …")))


def _count(table: pd.DataFrame) -> str:
    """Number of heads and tests, and a note if the correction for several tests cannot reach its level."""
    tested = table["p"].notna()
    count = f"n = {int(table['n'].max()) if len(table) else 0} heads; {tested.sum()} pairs tested"
    if tested.any() and table.loc[tested, "p_holm"].isna().all():
        count += f"; {too_few_draws('p_holm', int(tested.sum()), LEVEL, 'shuffles').rstrip('.')}"
    return count
