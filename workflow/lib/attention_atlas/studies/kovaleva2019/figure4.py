"""Figure 4: how a frame is annotated, on a sentence of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from attention_atlas.corpora.frames import ELEMENT, TARGET
from attention_atlas.figures.attention_lines import shortened
from attention_atlas.figures.style import BLUE, COLUMN, ORANGE, PAGE, SMALLEST, footnote, page_figure, plain, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_COLOURS = {TARGET: ORANGE, ELEMENT: BLUE}
_TITLES = {TARGET: "target", ELEMENT: "core element"}
_WIDTH, _GAP = 0.0096, 0.016
"""Width of a letter, and of the space between words, in inches for each point of the font size."""
_SIZES = (10.0, 9.0, 8.0, 7.0, SMALLEST)
_ABRIDGED = ((2, 2, 99), (1, 2, 14), (0, 1, 12))
"""Ways of abridging a sentence that is too long to be drawn, the mildest first: words kept around a target or an element,
words kept at both ends of a long element, and letters of a word."""
_LEFT_OUT = "…"
_Run = tuple[str, str]
"""Words that belong together, and their role."""


def figure4(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw a sentence with its target and elements in boxes, and a link between them.

    Args:
        path: of `frame_heads`.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["word", "role", "frame", "example"])
    words, roles = table["word"].astype(str).tolist(), table["role"].fillna("").tolist()
    space = PAGE - 0.5
    runs = role_runs(words, roles)
    for near, ends, letters in _ABRIDGED:
        if _length(runs) * _SIZES[-1] > space:
            runs = abridged([shortened(word, letters) for word in words], roles, near, ends)
    size = next((size for size in _SIZES if _length(runs) * size <= space), SMALLEST)
    width = max(COLUMN, _length(runs) * size + 0.5)
    figure, grid = page_figure(1, 1, width, 1.5)
    axes = grid[0, 0]
    _draw(axes, runs, size)
    frame = table["frame"].iloc[0]
    name = f"Frame {frame}" if isinstance(frame, str) and frame else "Frame-semantic relation"
    axes.set_title(name.replace("_", " "))
    axes.set_xlim(-0.25, min(width, PAGE) - 0.25)
    axes.set_ylim(-0.62, 0.7)
    axes.axis("off")
    save_figure(figure, pictures, footnote(label, f"sentence {table['example'].iloc[0]}"))


def role_runs(words: Sequence[str], roles: Sequence[str]) -> list[_Run]:
    """Adjacent words of one role as one text; words without a role one by one."""
    runs: list[_Run] = []
    for place, (word, role) in enumerate(zip(words, roles, strict=True)):
        if role and place and roles[place - 1] == role:
            runs[-1] = (f"{runs[-1][0]} {word}", role)
        else:
            runs.append((word, role))
    return runs


def abridged(words: Sequence[str], roles: Sequence[str], near: int, ends: int) -> list[_Run]:
    """The same without words far from any role and without the middle of long elements, an ellipsis in their place.

    Args:
        words, roles: of the sentence.
        near: words kept on both sides of a word with a role.
        ends: words kept at both ends of an element.
    """
    marked = [place for place, role in enumerate(roles) if role]
    shown: list[_Run] = []
    for text, role in role_runs(words, roles):
        inner = text.split(" ")
        if role and len(inner) > 2 * ends + 1:
            text = " ".join([*inner[:ends], _LEFT_OUT, *inner[-ends:]])
        shown.append((text, role))
    place = 0
    kept: list[_Run] = []
    for (text, role), (whole, _) in zip(shown, role_runs(words, roles), strict=True):
        if role or min((abs(place - marked_place) for marked_place in marked), default=0) <= near:
            kept.append((text, role))
        elif not kept or kept[-1][0] != _LEFT_OUT:
            kept.append((_LEFT_OUT, ""))
        place += len(whole.split(" ")) if role else 1
    return kept


def _length(runs: Sequence[_Run]) -> float:
    """Length of a sentence in inches, for each point of the font size."""
    return sum(_WIDTH * len(text) + _GAP + (_GAP if role else 0) for text, role in runs)


def _draw(axes: Axes, runs: Sequence[_Run], size: float) -> None:
    middles: dict[str, list[float]] = {}
    place = 0.0
    for text, role in runs:
        width = _WIDTH * len(text) * size
        margin = _GAP * size / 2 if role else 0.0
        middle = place + margin + width / 2
        axes.text(middle, 0, plain(text), ha="center", va="center", fontsize=size)
        if role in _COLOURS:
            middles.setdefault(role, []).append(middle)
            box: dict[str, Any] = {"boxstyle": "round,pad=0.03", "fill": False, "edgecolor": _COLOURS[role], "linewidth": 1.4}
            axes.add_patch(FancyBboxPatch((place + margin, -0.14), width, 0.28, **box))
        place += width + 2 * margin + _GAP * size
    for role, centres in middles.items():
        for centre in centres:
            axes.text(centre, -0.38, _TITLES[role], ha="center", va="center", fontsize=7, color=_COLOURS[role])
    for target in middles.get(TARGET, []):
        for element in middles.get(ELEMENT, []):
            bend = 0.3 if target > element else -0.3
            arc: dict[str, Any] = {"connectionstyle": f"arc3,rad={bend}", "arrowstyle": "-", "color": "#444444"}
            axes.add_patch(FancyArrowPatch((target, 0.2), (element, 0.2), **arc))
