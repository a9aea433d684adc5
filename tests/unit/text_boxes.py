"""What a reader of a printed figure stumbles over, by the boxes of the renderer: overlapping or cut texts, covered data.

```python
with saved_figures() as figures:
    figure1(table, label, {"png": tmp_path / "figure1.png"})
assert [problem for figure in figures for problem in problems(figure)] == []
```
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import matplotlib.patheffects  # noqa: F401  # loaded before `Text.draw` is replaced
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

LARGEST = (7.0, 9.0)
"""Width and height of a page's text block, in inches."""
SMALLEST = 6.0
"""Smallest font size that is read in print, in points."""
LEGEND_SHARE = 1 / 3
"""Legends take less than this share of a figure."""
_SLACK = 0.5
"""Points by which two boxes may overlap: a box has some room around its letters."""


@dataclass(frozen=True)
class SavedFigure:
    """A figure as it was saved.

    Attributes:
        figure: the figure.
        box: the part of it that was saved, in inches.
    """

    figure: Figure
    box: Bbox


@contextmanager
def saved_figures() -> Iterator[list[SavedFigure]]:
    """Collect the figures that are saved meanwhile, each once, whatever the number of its formats."""
    saved: dict[int, SavedFigure] = {}
    write = Figure.savefig

    def record(figure: Figure, *arguments: Any, **options: Any) -> None:
        box = options.get("bbox_inches")
        saved.setdefault(
            id(figure), SavedFigure(figure, box if isinstance(box, Bbox) else Bbox.from_bounds(0, 0, *_size(figure)))
        )
        write(figure, *arguments, **options)

    figures: list[SavedFigure] = []
    with mock.patch.object(Figure, "savefig", record):
        yield figures
    figures.extend(saved.values())


def problems(saved: SavedFigure) -> list[str]:
    """All that is wrong with a figure, a sentence each; empty where a reader can read it."""
    texts = drawn_texts(saved.figure)
    return [*overlapping(texts), *cut(texts, saved), *too_small(texts), *over_axes(texts), *covering(saved), *too_large(saved)]


def drawn_texts(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Texts that are really drawn (no tick outside of its axis, nothing hidden), with their boxes in pixels."""
    texts: dict[int, Text] = {}
    draw = Text.draw

    def record(text: Text, renderer: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            texts[id(text)] = text
        draw(text, renderer)

    with mock.patch.object(Text, "draw", record):
        figure.canvas.draw()
    return [(text, text.get_window_extent()) for text in texts.values()]


def overlapping(texts: list[tuple[Text, Bbox]]) -> list[str]:
    """Pairs of texts whose boxes overlap."""
    if not texts:
        return []
    low, high = np.array([box.min for _, box in texts]), np.array([box.max for _, box in texts])
    both = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    slack = _pixels(texts[0][0], _SLACK)
    pairs = np.argwhere(np.triu((both > slack).all(axis=-1), k=1))
    return [f"{_named(texts[k][0])} overlaps {_named(texts[m][0])}" for k, m in pairs]


def cut(texts: list[tuple[Text, Bbox]], saved: SavedFigure) -> list[str]:
    """Texts that leave the saved part of the figure, or the box that they are clipped to."""
    dpi = saved.figure.dpi
    page = Bbox(saved.box.get_points() * dpi)
    slack = _SLACK * dpi / 72
    outside = [f"{_named(text)} lies outside of the figure" for text, box in texts if not _within(box, page, slack)]
    clipped = [
        f"{_named(text)} is clipped"
        for text, box in texts
        if text.get_clip_on() and text.get_clip_box() is not None and not _within(box, text.get_clip_box(), slack)
    ]
    return outside + clipped


def too_small(texts: list[tuple[Text, Bbox]]) -> list[str]:
    """Texts below the smallest readable size."""
    return [f"{_named(text)} has {text.get_fontsize():.1f} pt" for text, _ in texts if text.get_fontsize() < SMALLEST - 1e-6]


def over_axes(texts: list[tuple[Text, Bbox]]) -> list[str]:
    """Texts of one panel that lie over another panel."""
    figures = {text.get_figure(root=True) for text, _ in texts}
    axes = [axis for figure in figures if figure is not None for axis in figure.findobj(Axes) if axis.get_visible()]
    over = []
    for text, box in texts:
        home = text.axes
        for axis in axes:
            panel = axis.get_window_extent()
            if axis is home or (home is not None and _overlap(home.get_window_extent(), panel, 0)):
                continue
            if _overlap(box, panel, _pixels(text, _SLACK)):
                over.append(f"{_named(text)} lies over the panel {axis.get_title() or axis.get_label()!r}")
    return over


def covering(saved: SavedFigure) -> list[str]:
    """Legends that cover data of their panel, and legends that take a third of the figure together."""
    figure = saved.figure
    legends = [legend for legend in figure.findobj(Legend) if legend.get_visible()]
    covered = [
        f"the legend of {legend.axes.get_title()!r} covers data"
        for legend in legends
        if legend.axes is not None and _covers(legend.get_window_extent(), legend.axes)
    ]
    boxes = [legend.get_window_extent() for legend in legends]
    share = sum(box.width * box.height for box in boxes) / (saved.box.width * saved.box.height * figure.dpi**2)
    return covered + ([f"legends take {share:.0%} of the figure"] if share >= LEGEND_SHARE else [])


def too_large(saved: SavedFigure) -> list[str]:
    """A figure that does not fit a page."""
    width, height = saved.box.width, saved.box.height
    return [f"{width:.2f} x {height:.2f} inches"] if width > LARGEST[0] + 1e-6 or height > LARGEST[1] + 1e-6 else []


def _covers(box: Bbox, axes: Axes) -> bool:
    """Whether a box covers a bar, a point, or a vertex of a line of a panel. Lines and spans across the panel do not count."""
    points = [line.get_transform().transform(line.get_xydata()) for line in axes.lines if _in_data(line, axes)]
    points += [
        collection.get_offset_transform().transform(np.ma.filled(collection.get_offsets(), np.nan))
        for collection in axes.collections
        if isinstance(collection, PathCollection) and collection.get_visible()
    ]
    if any(((part > box.min) & (part < box.max)).all(axis=1).any() for part in points if len(part)):
        return True
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle) and _in_data(patch, axes)]
    return any(_overlap(box, bar.get_window_extent(), 0) for bar in bars if bar.get_height() and bar.get_width())


def _in_data(artist: Any, axes: Axes) -> bool:
    """Whether both coordinates of an artist are data: not those of `axhline` or `axvspan`."""
    return bool(artist.get_visible()) and bool(
        artist.get_transform().contains_branch_seperately(axes.transData) == (True, True)
    )


def _size(figure: Figure) -> tuple[float, float]:
    width, height = figure.get_size_inches()
    return float(width), float(height)


def _overlap(a: Bbox, b: Bbox, slack: float) -> bool:
    """Whether two boxes share more than `slack` pixels in both directions."""
    return min(a.x1, b.x1) - max(a.x0, b.x0) > slack and min(a.y1, b.y1) - max(a.y0, b.y0) > slack


def _within(box: Bbox, page: Bbox, slack: float) -> bool:
    inside = box.x0 >= page.x0 - slack and box.x1 <= page.x1 + slack and box.y0 >= page.y0 - slack and box.y1 <= page.y1 + slack
    return bool(inside)


def _pixels(text: Text, points: float) -> float:
    figure = text.get_figure(root=True)
    assert figure is not None
    return points * figure.dpi / 72


def _named(text: Text) -> str:
    return repr(text.get_text()[:60])
