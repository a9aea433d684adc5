"""Figure 3: how many heads of each type every layer has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table
from attention_atlas.methods.head_type_names import TITLES, shown_types
from attention_atlas.studies.guan2020.type_styles import COLOURS


def figure3(layers_path: str | Path, summary_path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw stacked counts by layer.

    Args:
        layers_path: of `cluster_heads`.
        summary_path: of `cluster_heads`.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(layers_path, ["layer", "type", "heads"])
    names = shown_types(table["type"])
    counts = table.pivot(index="layer", columns="type", values="heads").reindex(columns=list(names))
    use_style()
    figure, axes = plt.subplots(figsize=(max(4.6, 0.3 * len(counts) + 2.4), 3.6), constrained_layout=True)
    bottom = np.zeros(len(counts))
    for name in names:
        title = f"{TITLES[name]} ({counts[name].sum() / counts.to_numpy().sum():.1%})"
        axes.bar(counts.index, counts[name], bottom=bottom, color=COLOURS[name], width=0.8, label=title)
        bottom += counts[name].to_numpy()
    axes.set_xlabel("Layer")
    axes.set_ylabel("Heads")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=24))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(0.4, len(counts) + 0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    examples = int(read_quantities(summary_path)["examples"])
    footnote = f"{label.line}\n{int(counts.to_numpy().sum())} heads, features over n = {examples} examples."
    save_figure(figure, pictures, footnote)
