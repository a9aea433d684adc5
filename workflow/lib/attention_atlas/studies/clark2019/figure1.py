"""Figure 1: examples of heads that attend broadly, to the next token, to [SEP] and to punctuation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from attention_atlas.figures.attention_lines import draw_attention_lines, shortened
from attention_atlas.figures.style import BLUE, NOTE, PAGE, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_TITLES = {
    "broad": "attends broadly: entropy {value:.2f} nats",
    "next token": "{value:.0%} of its attention to the next token",
    "[SEP]": "{value:.0%} of its attention to [SEP]",
    "punctuation": "{value:.0%} of its attention to . and ,",
}
_PROPERTIES = {
    "broad": ("broad_entropy", "attends broadly: the largest mean entropy is {value:.2f} nats (threshold {threshold:g})"),
    "next token": (
        "position",
        "attends mostly to the next token: the largest mean share is {value:.0%} (threshold {threshold:.0%})",
    ),
    "[SEP]": ("special", "attends mostly to [SEP]: the largest mean share is {value:.0%} (threshold {threshold:.0%})"),
    "punctuation": ("special", "attends mostly to . and ,: the largest mean share is {value:.0%} (threshold {threshold:.0%})"),
}
"""Kind -> the threshold from which a head is of this kind (as in Figure 6), and what a panel without such a head says."""


def figure1(
    weights_path: str | Path,
    heads: str | Sequence[Sequence[int]],
    thresholds: Mapping[str, Any],
    label: RunLabel,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw one panel a kind of head from the table of weights.

    Args:
        weights_path: table of `drawn_heads.figure1_weights`.
        heads: `auto`, where a panel is drawn only if its head is of the kind, or the heads that the run names.
        thresholds: broad_entropy (nats), position, special (shares): from where a head is of a kind.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(weights_path, ["kind", "layer", "head", "value", "from_position", "from_token", "weight"])
    panels = list(table.groupby("kind", sort=False))
    columns = 2
    rows = -(-len(panels) // columns)
    size = int(table["from_position"].max())
    figure, grid = page_figure(rows, columns, PAGE, rows * (0.145 * size + 0.45))
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    for axes, (kind, panel) in zip(grid.flat, panels, strict=False):
        first = panel.iloc[0]
        threshold, absent = _PROPERTIES[kind]
        limit = float(thresholds[threshold])
        if isinstance(heads, str) and not first["value"] > limit:
            _say(axes, f"No head of this model {absent.format(value=first['value'], threshold=limit)}.")
            continue
        weights = panel["weight"].to_numpy().reshape(size, size)
        tokens = [shortened(token) for token in panel["from_token"].astype(str).to_numpy()[::size]]
        draw_attention_lines(axes, tokens, weights, BLUE)
        axes.set_title(f"Head {first['layer']}-{first['head']}: {_TITLES[kind].format(value=first['value'])}")
    save_figure(figure, pictures, footnote(label, f"one segment ({table['example'].iloc[0]})"))


def _say(axes: Axes, sentence: str) -> None:
    axes.text(0.5, 0.5, "\n".join(textwrap.wrap(sentence, 36)), ha="center", va="center", color=NOTE, transform=axes.transAxes)
    axes.axis("off")
