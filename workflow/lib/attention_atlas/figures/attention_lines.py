"""Attention of one head as lines between two columns of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from attention_atlas.figures.style import VERMILION, plain

LEFT, RIGHT = 0.36, 0.64
LONGEST = 14
"""Maximum number of characters of a word before it is shortened."""


def draw_attention_lines(
    axes: Axes,
    words: Sequence[str],
    weights: npt.NDArray[np.floating],
    colour: str,
    marked: npt.NDArray[np.bool_] | None = None,
    mark_colour: str = VERMILION,
    marked_words: Sequence[int] = (),
    size: float = 7,
) -> None:
    """Draw query words on the left, key words on the right, and a line as opaque as each weight [n, n]; NaN draws none.

    marked: [n, n] lines drawn in `mark_colour`, on top of all others; marked_words: positions of words printed bold in it.
    """
    n = len(words)
    shown = ~np.isnan(weights) & (weights > 0.005)
    heights = np.arange(n)[::-1]
    on_top = np.zeros((n, n), dtype=bool) if marked is None else marked
    for is_marked, drawn in ((False, colour), (True, mark_colour)):
        rows, columns = np.nonzero(shown & (on_top == is_marked))
        lines = weighted_lines(heights[rows], heights[columns], weights[rows, columns], drawn, (LEFT, RIGHT), 1.4)
        lines.set_zorder(2 if is_marked else 1)
        axes.add_collection(lines)
    for position, word in enumerate(words):
        text_style: dict[str, Any] = {"color": mark_colour, "fontweight": "bold"} if position in marked_words else {}
        safe = plain(word)
        axes.text(LEFT - 0.02, heights[position], safe, ha="right", va="center", fontsize=size, **text_style)
        axes.text(RIGHT + 0.02, heights[position], safe, ha="left", va="center", fontsize=size, **text_style)
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.7, n - 0.3)
    axes.axis("off")


def shortened(word: str, longest: int = LONGEST) -> str:
    """A word, or its start and an ellipsis, so that a column of words keeps its width."""
    return word if len(word) <= longest else word[: longest - 1] + "…"


def weighted_lines(
    left_heights: npt.NDArray[np.floating | np.integer],
    right_heights: npt.NDArray[np.floating | np.integer],
    weights: npt.NDArray[np.floating],
    colours: str | npt.NDArray[np.floating],
    sides: tuple[float, float],
    width: float,
) -> LineCollection:
    """Lines [line] from the left to the right side, each as opaque as its weight; colours: one for all lines, or [line, 4]."""
    heights = (left_heights, right_heights)
    points = [np.column_stack([np.full(len(weights), side), at_side]) for side, at_side in zip(sides, heights, strict=True)]
    tinted = np.array(np.broadcast_to(to_rgba(colours) if isinstance(colours, str) else colours, (len(weights), 4)))
    tinted[:, 3] = np.clip(weights, 0, 1)
    return LineCollection(list(np.stack(points, axis=1)), colors=tinted, linewidths=width)
