"""Figure of the atlas: correlations between measures of heads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from attention_atlas.atlas.correlations import CORRELATIONS, LEVEL
from attention_atlas.atlas.measures import MEASURES
from attention_atlas.figures.style import save_figure, use_style
from attention_atlas.io.tables import read_table
from attention_atlas.stats.simultaneous import too_few_draws

Pictures = Mapping[str, str | Path]


def correlation_map(correlations: str | Path, measures: str | Path, line: str, pictures: Pictures) -> None:
    """Draw rank correlations of all measures, like ones side by side, and mark those that hold within layers.

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
    names = list(dict.fromkeys([*table["measure_a"], *table["measure_b"]]))
    place = {name: k for k, name in enumerate(names)}
    grid, significant = np.eye(len(names)), np.zeros((len(names), len(names)), dtype=bool)
    definitional = significant.copy()
    for row in table.itertuples():
        k, m = place[row.measure_a], place[row.measure_b]
        grid[k, m] = grid[m, k] = row.spearman
        significant[k, m] = significant[m, k] = row.p_holm < LEVEL
        definitional[k, m] = definitional[m, k] = bool(row.definitional)
    use_style()
    size = 0.34 * len(names) + 2.6
    figure, axis = plt.subplots(figsize=(size + 3.2, size), constrained_layout=True)
    if len(names) > 2:
        # Measures with opposite signs say the same of heads.
        distances = np.clip(1 - np.abs(np.nan_to_num(grid)), 0, None)
        np.fill_diagonal(distances, 0)
        order = leaves_list(linkage(squareform(distances, checks=False), method="average"))
        grid, significant, definitional = (array[np.ix_(order, order)] for array in (grid, significant, definitional))
        names = [names[k] for k in order]
    image = axis.imshow(grid, cmap="RdBu_r", vmin=-1, vmax=1)
    rows, columns = np.nonzero(significant)
    axis.plot(columns, rows, "o", color="black", markersize=2.4)
    rows, columns = np.nonzero(definitional)
    axis.plot(columns, rows, "x", color="black", markersize=4)
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=7.5)
    axis.set_yticks(range(len(names)), [str(titles.get(name, name)) for name in names], fontsize=7.5)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    figure.colorbar(image, ax=axis, shrink=0.7, label="Spearman over heads")
    heads = int(table["n"].max()) if len(table) else 0
    tested = table["p"].notna()
    note = (
        f"Rank correlations over up to {heads} heads, measures in the order of average linkage of 1 - |Spearman|.\nA dot: p < "
        f"{LEVEL} after Holm over {tested.sum()} pairs when heads are shuffled within their layers. A cross: measures that go "
        "together by their definitions; not tested."
    )
    if tested.any() and table.loc[tested, "p_holm"].isna().all():
        note = f"{note} {too_few_draws('p_holm', int(tested.sum()), LEVEL, 'shuffles')}"
    save_figure(figure, pictures, f"{line}\n{note}")
