"""Figure 1: examples of heads that attend broadly, to the next token, to [SEP] and to punctuation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from attention_atlas.figures.attention_lines import draw_attention_lines
from attention_atlas.figures.style import BLUE, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_TITLES = {
    "broad": "broad: entropy {value:.2f} nats",
    "next token": "next token: {value:.0%} of its attention",
    "[SEP]": "[SEP]: {value:.0%} of its attention",
    "punctuation": "full stops, commas: {value:.0%}",
}


def figure1(weights_path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw one panel a head from the table of weights."""
    table = read_table(weights_path, ["kind", "layer", "head", "value", "from_position", "from_token", "weight"])
    use_style()
    panels = list(table.groupby("kind", sort=False))
    figure, grid = plt.subplots(1, len(panels), figsize=(2.75 * len(panels), 4.1), constrained_layout=True, squeeze=False)
    for axes, (kind, panel) in zip(grid[0], panels, strict=True):
        size = int(panel["from_position"].max())
        weights = panel["weight"].to_numpy().reshape(size, size)
        tokens = panel["from_token"].astype(str).to_numpy()[::size].tolist()
        draw_attention_lines(axes, tokens, weights, BLUE)
        first = panel.iloc[0]
        axes.set_title(f"Head {first['layer']}-{first['head']}\n{_TITLES[kind].format(value=first['value'])}", fontsize=9)
    note = (
        f"In the titles: means over all segments. Drawn: the last {size} tokens of one segment ({table['example'].iloc[0]}); "
        "the darker a line, the larger the weight."
    )
    save_figure(figure, pictures, f"{label.line}\n{note}")
