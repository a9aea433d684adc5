"""Attention of one head as lines between two columns of words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

LEFT, RIGHT = 0.34, 0.66


def draw_attention_lines(
    axes: Axes,
    words: Sequence[str],
    weights: npt.NDArray[np.floating],
    colour: str,
    marked: npt.NDArray[np.bool_] | None = None,
    mark_colour: str = "#D55E00",
    marked_words: Sequence[int] = (),
) -> None:
    """Draw attending words on the left, attended words on the right, and a line as strong as each weight.

    Args:
        axes: where to draw.
        words: the n words.
        weights: [n, n], row = attending; NaN draws no line.
        colour: of the lines.
        marked: [n, n] lines drawn in `mark_colour`.
        mark_colour: of marked lines and words.
        marked_words: positions of words printed bold in `mark_colour`, in both columns.
    """
    n = len(words)
    rows, columns = np.nonzero(~np.isnan(weights) & (weights > 0.005))
    heights = np.arange(n)[::-1]
    starts = np.column_stack([np.full(len(rows), LEFT), heights[rows]])
    ends = np.column_stack([np.full(len(rows), RIGHT), heights[columns]])
    tinted = np.tile(to_rgba(colour), (len(rows), 1))
    if marked is not None:
        tinted[marked[rows, columns]] = to_rgba(mark_colour)
    tinted[:, 3] = np.clip(weights[rows, columns], 0, 1)
    axes.add_collection(LineCollection(np.stack([starts, ends], axis=1), colors=tinted, linewidths=1.4))
    for position, word in enumerate(words):
        look = {"color": mark_colour, "fontweight": "bold"} if position in marked_words else {}
        # A dollar sign would open a formula.
        safe = word.replace("$", r"\$")
        axes.text(LEFT - 0.02, heights[position], safe, ha="right", va="center", fontsize=8, **look)
        axes.text(RIGHT + 0.02, heights[position], safe, ha="left", va="center", fontsize=8, **look)
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.7, n - 0.3)
    axes.axis("off")
