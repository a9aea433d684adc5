"""Style of all figures: a seaborn theme, a colour-blind-safe palette, page sizes, and byte-identical files."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from attention_atlas.io.files import whole_file
from attention_atlas.io.run_label import RunLabel

# Okabe & Ito (2008): distinguishable under the common kinds of colour blindness.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
GREY = "#8a8a8a"
NOTE = "#555555"
"""Colour of footnotes and of remarks in a panel."""
PALETTE = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, BLACK)
"""Colours of categories, in the order in which they are used."""
SEQUENTIAL = "mako_r"
"""Colour map of values from 0: light is small."""
REVERSED = "mako"
"""The same for similarities, where 1 means no difference: light is large."""
DIVERGING = "vlag_r"
"""Colour map of values around 0: red is below, blue above."""

COLUMN, PAGE = 3.4, 7.0
"""Widths of a figure in inches: one column, and the text width of a page."""
TALLEST = 9.0
"""Height of a figure in inches, footnote included."""
SMALLEST = 6.0
"""Size of the smallest text in points, at printed size."""
PUBLISHED: dict[str, Any] = {"color": BLACK, "marker": "D", "markersize": 4, "markerfacecolor": "none", "markeredgewidth": 0.9}
"""Style of published values: a hollow black diamond. Give it `linestyle`: "none" for marks, ":" for a line."""

_FORMATS = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {"Software": None}}
_MARGIN = 0.04
"""Inches around a saved figure."""
_FOOTNOTE = 6.5
"""Size of the footnote in points."""
_LISTED = 2
"""A footnote names at most this many models or corpora, and counts more."""
_THEME: dict[str, Any] = {
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.edgecolor": "#333333",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "patch.linewidth": 0.5,
    "svg.hashsalt": "attention-atlas",
    "svg.fonttype": "none",
    # Embedded TrueType fonts: many publishers reject type 3 fonts.
    "pdf.fonttype": 42,
}


def use_style() -> None:
    """Set seaborn's theme for all figures of the atlas."""
    sns.set_theme(context="paper", style="ticks", palette=list(PALETTE), rc=_THEME)


def page_figure(rows: int, columns: int, width: float, height: float, **subplots: Any) -> tuple[Figure, Any]:
    """A figure of panels that fits a page.

    Args:
        rows, columns: number of rows and columns of panels.
        width, height: size of the figure in inches; limited to the size of a page.
        subplots: other arguments of `matplotlib.pyplot.subplots`.

    Returns:
        The figure, and its axes [row, column].
    """
    use_style()
    size = (min(width, PAGE), min(height, TALLEST - 0.5))
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, **subplots)
    return figure, axes


def panels(width: float, height: float, count: int = 2) -> tuple[Figure, Any]:
    """A figure with panels side by side, of a size in inches (smaller if the page is too narrow), and their axes [panel]."""
    figure, axes = page_figure(1, count, width * count, height)
    return figure, axes[0]


def plain(text: str) -> str:
    """Text with escaped dollar signs, which would start a formula."""
    return text.replace("$", r"\$")


def minus_signs(text: str) -> str:
    """Text with a minus sign before a number with decimals; a hyphen between layer and head stays."""
    return re.sub(r"-(?=\d+\.)", "−", text)


def footnote(labels: RunLabel | Iterable[RunLabel], count: str = "") -> str:
    """The one line below a figure: run, model, corpus, and n.

    The caption (`studies/<id>/study.py`) says what a figure shows, how it was measured, and its caveats.

    Args:
        labels: models and corpora of the figure; more than two are counted, not named.
        count: size of the sample, such as `n = 40 segments`.
    """
    every = [labels] if isinstance(labels, RunLabel) else list(labels)
    models = _listed([label.model for label in every], "models")
    corpora = _listed([label.corpus for label in every], "corpora")
    runs = "; ".join(dict.fromkeys(label.run for label in every))
    parts = [f"{runs}: {models} on {corpora}", count]
    if any(label.stand_in for label in every):
        parts.append("generated text and a small random model stand for those named")
    elif any(label.sample for label in every) and "generated" not in corpora:
        parts.append("generated text")
    return "; ".join(filter(None, parts)) + "."


def _listed(names: list[str], plural: str) -> str:
    different = list(dict.fromkeys(names))
    return " and ".join(different) if len(different) <= _LISTED else f"{len(different)} {plural}"


def save_figure(figure: Figure, files: Mapping[str, str | Path], footnote: str = "") -> None:
    """Save a figure in several formats, without dates, and close it.

    Args:
        figure: the figure.
        files: format (svg, png, pdf) -> file.
        footnote: small grey line below the figure: run, model, corpus, n (see `footnote`).
    """
    bounds = lay_out(figure, footnote)
    for kind, path in files.items():
        with whole_file(path) as part:
            figure.savefig(part, format=kind, metadata=_FORMATS[kind], bbox_inches=bounds)
    plt.close(figure)


def lay_out(figure: Figure, footnote: str = "") -> Bbox:
    """Fix the layout of a figure and write its footnote below; returns the bounds to save it with, in inches.

    Layout and measuring are done once for all formats: otherwise each format would repeat both, and draw once more with any
    layout engine (even "none").
    """
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    for legend in figure.legends:
        # In figure coordinates: `savefig` enlarges the figure's box by the footnote, which would move the legend.
        if legend.get_bbox_to_anchor() is figure.bbox:
            legend.set_bbox_to_anchor((0.0, 0.0, 1.0, 1.0), transform=figure.transFigure)
    width = figure.get_figwidth()
    bottom = min(0.0, figure.get_tightbbox().y0 / figure.get_figheight())
    note = figure.text(0.5, bottom, "", ha="center", va="top", fontsize=_FOOTNOTE, color=NOTE, linespacing=1.3)
    _wrap(note, footnote, (width - 2 * _MARGIN) * figure.dpi)
    content = figure.get_tightbbox().padded(_MARGIN)
    # Keep the declared width, so that the printed size is right, unless something exceeds it.
    return Bbox.union([content, Bbox.from_bounds(0, 0, width, figure.get_figheight())])


def _wrap(text: Text, words: str, width: float) -> None:
    """Wrap a text into lines of similar length, at most `width` pixels wide, and neither at `=` nor inside names."""
    unbroken = words.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    text.set_text(plain(words))
    whole = text.get_window_extent().width
    lines = math.ceil(whole / width)
    while lines > 1:
        longest = math.ceil(len(words) / lines) + 4
        wrapped = "\n".join(textwrap.wrap(unbroken, longest, break_long_words=False, break_on_hyphens=False))
        text.set_text(plain(wrapped.replace("\N{NO-BREAK SPACE}", " ")))
        if text.get_window_extent().width <= width or lines >= len(words.split()):
            break
        lines += 1
