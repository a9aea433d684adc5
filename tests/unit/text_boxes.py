"""What a reader of a printed figure stumbles over, by the boxes of the renderer: overlapping or cut texts, covered data.

Boxes are taken while the file is written: what `savefig` cuts or moves counts as it stands in the file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

WIDEST, TALLEST = 7.005, 9.005
"""A page's text block in inches, and half a pixel of a screen."""
SMALLEST = 6.0
"""Smallest font size that is read in print, in points."""
_SLACK = 0.5
"""Points by which two boxes may overlap: a box has some room around its letters."""
_Texts = list[tuple[Text, Bbox]]


class SavedFigure(NamedTuple):
    """All texts that were drawn into a file (no tick outside of its axis), and one sentence for each fault."""

    texts: list[str]
    problems: list[str]


@contextmanager
def saved_figures() -> Iterator[list[SavedFigure]]:
    """Collect the figures that are saved as PNG meanwhile."""
    figures: dict[int, tuple[Figure, SavedFigure]] = {}
    drawn: dict[int, tuple[Text, Bbox]] = {}
    draw_text, draw_figure, save = Text.draw, Figure.draw, Figure.savefig
    saving: list[Figure] = []

    def record_text(text: Text, renderer: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            drawn[id(text)] = text, text.get_window_extent(renderer)
        draw_text(text, renderer)

    def record_figure(figure: Figure, renderer: Any) -> None:
        drawn.clear()
        draw_figure(figure, renderer)
        # The last drawing of a saved figure is the one that is written.
        if saving and isinstance(renderer, RendererAgg):
            figures[id(figure)] = figure, _judged(figure, list(drawn.values()))

    def record_saving(figure: Figure, *arguments: Any, **options: Any) -> None:
        saving.append(figure)
        save(figure, *arguments, **options)
        saving.pop()

    collected: list[SavedFigure] = []
    with (
        mock.patch.object(Text, "draw", record_text),
        mock.patch.object(Figure, "draw", record_figure),
        mock.patch.object(Figure, "savefig", record_saving),
    ):
        yield collected
    collected.extend(saved for _, saved in figures.values())


def _judged(figure: Figure, texts: _Texts) -> SavedFigure:
    width, height = (float(size) / figure.dpi for size in figure.bbox.size)
    problems = [f"{width:.2f} x {height:.2f} inches"] if width > WIDEST or height > TALLEST else []
    problems += [
        f"{_named(text)} has {text.get_fontsize():.1f} pt" for text, _ in texts if text.get_fontsize() < SMALLEST - 1e-6
    ]
    problems += _overlapping(texts, figure) + _cut(texts, figure) + _legends(figure)
    return SavedFigure([text.get_text() for text, _ in texts], problems)


def _overlapping(texts: _Texts, figure: Figure) -> list[str]:
    if not texts:
        return []
    low, high = np.array([box.min for _, box in texts]), np.array([box.max for _, box in texts])
    both = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    pairs = np.argwhere(np.triu((both > _slack(figure)).all(axis=-1), k=1))
    return [f"{_named(texts[k][0])} overlaps {_named(texts[m][0])}" for k, m in pairs]


def _cut(texts: _Texts, figure: Figure) -> list[str]:
    """Texts that leave the file, or the box that they are clipped to."""
    found = []
    for text, box in texts:
        pages = {"lies outside of the figure": figure.bbox, "is clipped": text.get_clip_box() if text.get_clip_on() else None}
        for fault, page in pages.items():
            if page is not None and not ((box.min >= page.min - _slack(figure)) & (box.max <= page.max + _slack(figure))).all():
                found.append(f"{_named(text)} {fault}")
    return found


def _legends(figure: Figure) -> list[str]:
    """Legends that cover data of their panel."""
    legends = [legend for legend in figure.findobj(Legend) if legend.get_visible() and legend.axes is not None]
    over = [legend.axes for legend in legends if _covers(legend.get_window_extent(), legend.axes)]
    return [f"the legend of {(axes.get_title(loc='left') or axes.get_title())!r} covers data" for axes in over]


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
    return any(box.fully_overlaps(bar.get_window_extent()) for bar in bars if bar.get_height() and bar.get_width())


def _in_data(artist: Any, axes: Axes) -> bool:
    """Whether both coordinates of an artist are data: not those of `axhline` or `axvspan`."""
    return bool(artist.get_visible()) and artist.get_transform().contains_branch_seperately(axes.transData) == (True, True)


def _slack(figure: Figure) -> float:
    return _SLACK * figure.dpi / 72


def _named(text: Text) -> str:
    return repr(text.get_text()[:60])
