"""Labels beside the marks of a scatter plot, without overlap of labels or marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from attention_atlas.figures.style import NOTE, plain

_ANGLES = tuple(math.radians(angle) for angle in (90, 270, 0, 180, 45, 135, 315, 225))
_DISTANCES = (0.0, 3.0, 6.0)
"""Points between a mark and its label, the nearest first."""
_FAR = (10.0, 15.0, 21.0, 28.0, 36.0, 45.0)
"""The same for labels that a line leads to."""


def label_points(
    axes: Axes,
    points: Sequence[tuple[float, float]],
    labels: Sequence[str],
    size: float,
    radius: float = 3.0,
    marks: Sequence[tuple[float, float]] | None = None,
    lines: bool = False,
    **text: Any,
) -> int:
    """Write a label beside each point (in data coordinates) that has space; returns how many. The figure is laid out first.

    radius: of a mark, in points; marks: all marks that a label must not cover (default: the points); lines: whether a label
    without space may be placed farther away, with a line to the mark; text: other arguments of `Axes.annotate`.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    everything = points if marks is None else marks
    corners = [axes.transData.transform(point) for point in everything]
    reach = radius * scale
    taken = [Bbox.from_extents(x - reach, y - reach, x + reach, y + reach) for x, y in corners]
    inside = axes.get_window_extent()
    placed = 0
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": size, "ha": "center", "va": "center"} | text
    for point, label in zip(points, labels, strict=True):
        note = axes.annotate(plain(label), point, (0, 0), **style)
        extent = note.get_window_extent()
        x, y = axes.transData.transform(point)
        for distance, angle in ((d, a) for d in (*_DISTANCES, *(_FAR if lines else ())) for a in _ANGLES):
            across, along = _reach(extent, angle, (radius + distance + 0.5) * scale)
            box = Bbox.from_bounds(x + across - extent.width / 2, y + along - extent.height / 2, extent.width, extent.height)
            if _contains(inside, box) and not box.count_overlaps(taken):
                note.set_position((across / scale, along / scale))
                taken.append(box)
                placed += 1
                if distance in _FAR:
                    near = across - extent.width / 2 * _sign(across), along - extent.height / 2 * _sign(along)
                    _lead(axes, (x, y), (x + near[0], y + near[1]))
                break
        else:
            note.remove()
    return placed


def _reach(extent: Bbox, angle: float, gap: float) -> tuple[float, float]:
    """Distance from a mark to the centre of a label in a direction, such that the label starts after the gap, in pixels."""
    across, along = round(math.cos(angle), 6), round(math.sin(angle), 6)
    return gap * across + extent.width / 2 * _sign(across), gap * along + extent.height / 2 * _sign(along)


def _sign(value: float) -> int:
    return int(value > 0) - int(value < 0)


def _lead(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw a thin line between two points in pixels, without changing the limits of the axes."""
    ends = axes.transData.inverted().transform([start, end])
    axes.add_artist(Line2D(ends[:, 0], ends[:, 1], color=NOTE, linewidth=0.5, zorder=4))


def _contains(outer: Bbox, inner: Bbox) -> bool:
    return bool(outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1)
