"""Figure 2: heads in the plane by t-SNE of their distance features, coloured by type."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from attention_atlas.figures.style import save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table
from attention_atlas.methods.head_type_names import TITLES, shown_types
from attention_atlas.studies.guan2020.type_styles import COLOURS, MARKERS

_LABELLED_AT_MOST = 160
"""Label the marks of at most this many heads: more labels would overlap."""


def figure2(
    plane_path: str | Path,
    agreement_path: str | Path,
    summary_path: str | Path,
    label: RunLabel,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw all heads in the plane.

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
    use_style()
    figure, axes = plt.subplots(figsize=(6.4, 5.6), constrained_layout=True)
    for name in shown_types(plane["type"]):
        type_heads = plane[plane["type"] == name]
        title = f"{TITLES[name]} ({len(type_heads)} of {len(plane)})"
        axes.scatter(
            type_heads["x"],
            type_heads["y"],
            s=38,
            color=COLOURS[name],
            marker=MARKERS[name],
            alpha=0.85,
            linewidths=0,
            label=title,
        )
    if len(plane) <= _LABELLED_AT_MOST:
        for row in plane.itertuples():
            axes.annotate(
                f"{row.layer}-{row.head}", (row.x, row.y), xytext=(0, 4.5), textcoords="offset points", fontsize=5, ha="center"
            )
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel("t-SNE axis 1 (no unit)")
    axes.set_ylabel("t-SNE axis 2 (no unit)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2)
    examples = int(read_quantities(summary_path)["examples"])
    footnote = (
        f"{label.line}\n{len(plane)} heads, features over n = {examples} examples, not scaled; colours by clusters of the "
        f"features, not of the plane; silhouette {silhouette:.2f}. Distances between groups in such a plane have no meaning."
    )
    save_figure(figure, pictures, footnote)
