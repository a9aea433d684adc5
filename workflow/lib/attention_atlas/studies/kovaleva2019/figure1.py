"""Figure 1: a map of each class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from attention_atlas.figures.style import plain, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import CLASS_TITLES, CLASSES, TASK_TITLES


def figure1(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw a map of each class, all of one example.

    Args:
        path: of `draw_patterns`.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(
        path, ["class", "probability", "task", "example", "layer", "head", "query", "key", "query_token", "weight"]
    )
    use_style()
    figure, axes = plt.subplots(1, len(CLASSES), figsize=(3.05 * len(CLASSES), 3.7), constrained_layout=True)
    for axis, name in zip(axes, CLASSES, strict=True):
        cells = table[table["class"] == name]
        if cells.empty:
            axis.text(0.5, 0.5, "no map of this example", ha="center", transform=axis.transAxes, color="#555555")
            axis.set_title(CLASS_TITLES[name])
            axis.axis("off")
            continue
        first = cells.iloc[0]
        weights = cells.pivot(index="query", columns="key", values="weight").to_numpy(float)
        tokens = [plain(token) for token in cells.drop_duplicates("query")["query_token"].astype(str)]
        image = axis.imshow(weights**0.5, cmap="Reds", vmin=0, vmax=1)
        axis.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=5)
        axis.set_yticks(range(len(tokens)), tokens, fontsize=5)
        axis.set_title(f"{CLASS_TITLES[name]}\nlayer {first['layer']}, head {first['head']} (p = {first['probability']:.2f})")
    colours = figure.colorbar(image, ax=axes, label="Weight (square-root scale)", shrink=0.8)
    colours.set_ticks([0, 0.5, 0.7071, 1], labels=["0", "0.25", "0.5", "1"])
    axes[0].set_ylabel("Attending piece")
    first = table.iloc[0]
    note = (
        f"One example of {TASK_TITLES[first['task']]} ({first['example']}), maps of the fine-tuned model; for each "
        "class the map that the network is surest of. Rows attend, columns are attended to."
    )
    save_figure(figure, pictures, f"{label.line}\n{note}")
