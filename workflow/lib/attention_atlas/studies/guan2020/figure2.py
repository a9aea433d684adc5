"""Figure 2: heads in the plane by t-SNE of their distance features, coloured by type."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import seaborn as sns
from matplotlib.lines import Line2D

from attention_atlas.figures.point_labels import label_points
from attention_atlas.figures.style import NOTE, SMALLEST, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table
from attention_atlas.methods.head_type_names import TITLES, shown_types
from attention_atlas.studies.guan2020.type_styles import COLOURS, MARKERS


def figure2(
    plane_path: str | Path,
    agreement_path: str | Path,
    summary_path: str | Path,
    label: RunLabel,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw all heads in the plane, with their names where there is space for them.

    Args:
        plane_path, agreement_path: of `cluster_heads`.
        summary_path: of `cluster_heads`.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    plane = read_table(plane_path, ["layer", "head", "type", "x", "y"])
    silhouette = read_table(agreement_path, ["aspect", "silhouette"])["silhouette"].iloc[0]
    figure, grid = page_figure(1, 1, 5.2, 4.6)
    axes = grid[0, 0]
    names = shown_types(plane["type"])
    sns.scatterplot(
        plane,
        x="x",
        y="y",
        hue="type",
        style="type",
        palette=COLOURS,
        markers=MARKERS,
        s=24,
        linewidth=0,
        legend=False,
        ax=axes,
    )
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel("t-SNE axis 1 (no unit)")
    axes.set_ylabel("t-SNE axis 2 (no unit)")
    counts = plane["type"].value_counts()
    handles = [
        Line2D(
            [], [], linestyle="none", marker=MARKERS[name], color=COLOURS[name], label=f"{TITLES[name]} ({counts.get(name, 0)})"
        )
        for name in names
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    points = list(zip(plane["x"], plane["y"], strict=True))
    labels = [f"{row.layer}-{row.head}" for row in plane.itertuples()]
    label_points(axes, points, labels, SMALLEST, radius=2.6, color=NOTE)
    examples = int(read_quantities(summary_path)["examples"])
    save_figure(figure, pictures, footnote(label, f"n = {examples} questions, {len(plane)} heads, silhouette {silhouette:.2f}"))
