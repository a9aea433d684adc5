"""Figure of the atlas: correlations between measures of heads."""

from __future__ import annotations

from textwrap import wrap

import numpy as np
import pandas as pd
import seaborn as sns
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from attention_atlas.atlas.correlations import LEVEL
from attention_atlas.figures.style import BLACK, DIVERGING, PAGE, SMALLEST, TALLEST, DrawnFigure, page_figure, plain
from attention_atlas.stats.simultaneous import too_few_draws
from attention_atlas.workflow.shown import figure

_LINE = 46
"""Characters per line of a title; a title has at most two lines."""
_ROW = 0.19
"""Inches per measure."""


@figure(
    id="correlations",
    number="Correlations",
    title="Rank correlations between measures of heads",
    reads=("correlations", "measures"),
    files=("correlations.tsv", "findings.tsv", "findings.html"),
)
def correlation_map(correlations: pd.DataFrame, measures: pd.DataFrame) -> DrawnFigure:
    """Spearman correlations over heads between all measures that can be ranked, similar ones side by side; columns have the
    numbers of the rows. Dot: p < 0.05 after Holm's correction when heads are shuffled within their layers. Cross: related by
    definition (both count the same weights, or rank heads by breadth), not tested. findings.tsv tests findings that link two
    studies.
    """
    titles = measures.set_index("measure")["title"]
    values = _square(correlations, "spearman").fillna(0.0)
    values = values.mask(np.eye(len(values), dtype=bool), 1.0)
    names = _similar_side_by_side(values)
    drawn, ((axis,),) = page_figure(1, 1, PAGE, min(_ROW * len(names) + 0.6, TALLEST - 0.8))
    sns.heatmap(
        values.loc[names, names],
        cmap=DIVERGING,
        vmin=-1,
        vmax=1,
        cbar_kws={"label": "Spearman correlation over heads", "shrink": 0.6, "pad": 0.02},
        ax=axis,
    )
    significant, definitional = correlations["p_holm"] < LEVEL, correlations["definitional"]
    for is_marked, marker, size in ((significant, "o", 2.0), (definitional, "x", 3.0)):
        marked = _square(correlations.assign(marked=is_marked.astype(float)), "marked").loc[names, names]
        rows, columns = np.nonzero(marked.to_numpy() == 1)
        axis.plot(columns + 0.5, rows + 0.5, marker, color=BLACK, markersize=size, markeredgewidth=0.6)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    places = np.arange(len(names)) + 0.5
    axis.set_xticks(places, numbers, rotation=90, fontsize=SMALLEST)
    wrapped = ("\n".join(wrap(str(titles.get(name, name)), _LINE, max_lines=2, placeholder=" …")) for name in names)
    labels = [f"{plain(title)}  {number}" for title, number in zip(wrapped, numbers, strict=True)]
    axis.set_yticks(places, labels, rotation=0, fontsize=SMALLEST, linespacing=0.95)
    axis.tick_params(length=0)
    axis.set_xlabel("")
    axis.set_ylabel("")
    return DrawnFigure(drawn, correlations, _count(correlations))


def _square(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of pairs as a symmetric matrix of measures."""
    names = list(dict.fromkeys([*table["measure_a"], *table["measure_b"]]))
    triangle = table.pivot(index="measure_a", columns="measure_b", values=column).reindex(index=names, columns=names)
    return triangle.combine_first(triangle.T).loc[names, names].copy()


def _similar_side_by_side(values: pd.DataFrame) -> list[str]:
    """Measures in the order of average linkage; the sign of a correlation is ignored."""
    names = [str(name) for name in values.columns]
    if len(names) <= 2:
        return names
    distances = np.clip(1 - np.abs(values.to_numpy()), 0, None)
    order = leaves_list(linkage(squareform(distances, checks=False), method="average"))
    return [names[place] for place in order]


def _count(table: pd.DataFrame) -> str:
    """Number of heads and tests, and a note if the correction for several tests cannot reach its level."""
    tested = table["p"].notna()
    count = f"n = {int(table['n'].max()) if len(table) else 0} heads; {tested.sum()} pairs tested"
    if tested.any() and table.loc[tested, "p_holm"].isna().all():
        count += f"; {too_few_draws('p_holm', int(tested.sum()), LEVEL, 'shuffles').rstrip('.')}"
    return count
