"""Figure 1: examples of heads that attend broadly, to the next token, to [SEP] and to punctuation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attention_atlas.figures.attention_lines import draw_attention_lines, shortened
from attention_atlas.figures.style import BLUE, NOTE, PAGE, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_COLUMNS = 2
_TITLES = {
    "broad": "attends broadly: entropy {value:.2f} nats",
    "next token": "{percent:.0f} % of its attention to the next token",
    "[SEP]": "{percent:.0f} % of its attention to [SEP]",
    "punctuation": "{percent:.0f} % of its attention to . and ,",
}
_PROPERTIES = {
    "broad": ("broad_entropy", "attends broadly: the largest mean entropy is {value:.2f} nats (threshold {threshold:g})"),
    "next token": (
        "position",
        "attends mostly to the next token: the largest mean share is {percent:.0f} % (threshold {percent_threshold:.0f} %)",
    ),
    "[SEP]": (
        "special",
        "attends mostly to [SEP]: the largest mean share is {percent:.0f} % (threshold {percent_threshold:.0f} %)",
    ),
    "punctuation": (
        "special",
        "attends mostly to full stops and commas: the largest mean share is {percent:.0f} % "
        "(threshold {percent_threshold:.0f} %)",
    ),
}
"""Kind -> the threshold above which a head is of this kind (as in Figure 6), and the text if no head is."""


def figure1(
    weights_path: str | Path,
    heads: str | Sequence[Sequence[int]],
    thresholds: Mapping[str, Any],
    label: RunLabel,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw a panel for each kind of head from the table of weights, and say of which kind the model has none.

    Args:
        weights_path: table of `drawn_heads.figure1_weights`.
        heads: `auto` (a panel is drawn only if its head is of the kind), or the heads that the run names.
        thresholds: broad_entropy (nats), position, special (shares): above which a head is of a kind.
        label: run, model and corpus of the segment.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(weights_path, ["kind", "layer", "head", "value", "from_position", "from_token", "weight"])
    drawn, absent = [], []
    for kind, panel in table.groupby("kind", sort=False):
        value = float(panel["value"].iloc[0])
        threshold, sentence = _PROPERTIES[str(kind)]
        limit = float(thresholds[threshold])
        if not isinstance(heads, str) or value > limit:
            drawn.append((str(kind), panel))
        else:
            numbers = {"value": value, "threshold": limit, "percent": 100 * value, "percent_threshold": 100 * limit}
            absent.append(f"No head of this model {sentence.format(**numbers)}.")
    size = int(table["from_position"].max())
    columns = min(_COLUMNS, max(1, len(drawn)))
    rows = -(-len(drawn) // columns)
    heights = [0.145 * size + 0.45] * rows + [0.18 * len(absent)] * bool(absent)
    figure, grid = page_figure(len(heights), columns, PAGE, sum(heights), height_ratios=heights)
    for axes in grid.flat:
        axes.axis("off")
    for axes, (kind, panel) in zip(grid.flat, drawn, strict=False):
        first = panel.iloc[0]
        weights = panel["weight"].to_numpy().reshape(size, size)
        tokens = [shortened(token) for token in panel["from_token"].astype(str).to_numpy()[::size]]
        draw_attention_lines(axes, tokens, weights, BLUE)
        title = _TITLES[kind].format(value=first["value"], percent=100 * first["value"])
        axes.set_title(f"Head {first['layer']}-{first['head']}: {title}")
    if absent:
        grid[-1, 0].text(0, 0.5, "\n".join(absent), va="center", color=NOTE, transform=grid[-1, 0].transAxes, in_layout=False)
    save_figure(figure, pictures, footnote(label, f"one segment ({table['example'].iloc[0]})"))
