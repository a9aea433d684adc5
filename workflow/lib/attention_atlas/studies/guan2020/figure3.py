"""Figure 3: how many heads of each type every layer has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import seaborn as sns
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.quantities import LAYER
from attention_atlas.figures.style import PAGE, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table
from attention_atlas.methods.head_type_names import TITLES, shown_types
from attention_atlas.published.drawn import published_column
from attention_atlas.studies.guan2020.type_styles import COLOURS

_FEW_LAYERS = 12


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
    published = published_column("guan2020", "quantities", "value").drop_duplicates("quantity").set_index("quantity")["value"]
    tidy = counts.melt(ignore_index=False, var_name="type", value_name="heads").reset_index()
    figure, grid = page_figure(1, 1, PAGE if len(counts) > _FEW_LAYERS else 5.2, 2.6)
    axes = grid[0, 0]
    # Seaborn stacks from the last one up.
    stacked = {"multiple": "stack", "hue_order": list(reversed(names)), "palette": COLOURS, "alpha": 1, "linewidth": 0}
    sns.histplot(tidy, x="layer", weights="heads", hue="type", discrete=True, shrink=0.8, legend=False, ax=axes, **stacked)
    handles = []
    for name in names:
        share = f"{counts[name].sum() / counts.to_numpy().sum():.1%}".replace("%", " %")
        printed = f", published {100 * published[f'share_{name}']:.1f} %" if f"share_{name}" in published else ""
        handles.append(Patch(facecolor=COLOURS[name], label=f"{TITLES[name]}: {share}{printed}"))
    axes.set(xlabel=LAYER, ylabel="Heads")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(0.4, len(counts) + 0.6)
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    examples = int(read_quantities(summary_path)["examples"])
    save_figure(figure, pictures, footnote(label, f"n = {examples} questions, {int(counts.to_numpy().sum())} heads"))
