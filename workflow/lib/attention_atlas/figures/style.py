"""Style of all figures: theme, colour-blind-safe palette, names of quantities, page sizes, legends, byte-identical files."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from attention_atlas.io.files import whole_file
from attention_atlas.io.tables import RunLabel, write_table

matplotlib.use("Agg")

# Okabe & Ito (2008): distinguishable under the common kinds of colour blindness.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, BLACK = "#CC79A7", "#56B4E9", "#F0E442", "#000000"
GREY = "#8a8a8a"
NOTE = "#555555"
"""Colour of footnotes and of remarks in a panel."""
PALETTE = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, BLACK)
"""Colours of categories, in the order in which they are used."""
SEQUENTIAL, REVERSED, DIVERGING = "mako_r", "mako", "vlag_r"
"""Colour maps: of values from 0 (light is small), of similarities (light is large), of values around 0 (red is below)."""

COLUMN, PAGE, TALLEST = 3.4, 7.0, 9.0
"""Widths of a figure in inches, of one column and of the text of a page; and its height, footnote included."""
SMALLEST = 6.0
"""Size of the smallest text in points, at printed size."""
PUBLISHED: dict[str, Any] = {"color": BLACK, "marker": "D", "markersize": 4, "markerfacecolor": "none", "markeredgewidth": 0.9}
"""Style of published values: a hollow black diamond. Give it `linestyle`: "none" for marks, ":" for a line."""

_FORMATS = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {"Software": None}}
_MARGIN = 0.04
"""Inches around a saved figure."""
_FOOTNOTE = 6.5
"""Size of the footnote in points."""
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
    **dict.fromkeys(["xtick.labelsize", "ytick.labelsize"], 7),
    **dict.fromkeys(["xtick.major.size", "ytick.major.size"], 3),
    **dict.fromkeys(["xtick.major.width", "ytick.major.width"], 0.8),
    **dict.fromkeys(["xtick.minor.size", "ytick.minor.size"], 0),
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
    """A figure of panels of a size in inches, limited to a page, and its axes [row, column]."""
    use_style()
    size = (min(width, PAGE), min(height, TALLEST - 0.5))
    return plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, **subplots)


def panels(width: float, height: float, count: int = 2) -> tuple[Figure, Any]:
    """A figure with panels side by side, of a size in inches (smaller if the page is too narrow), and their axes [panel]."""
    figure, axes = page_figure(1, count, width * count, height)
    return figure, axes[0]


def plain(text: str) -> str:
    """Text with escaped dollar signs, which would start a formula, and without characters that no SVG may have."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]", "\ufffd", text).replace("$", r"\$")


def minus_signs(text: str) -> str:
    """Text with a minus sign before a number with decimals; a hyphen between layer and head stays."""
    return re.sub(r"-(?=\d+\.)", "−", text)


def footnote(labels: Collection[RunLabel], count: str) -> str:
    """The one line below a figure: run, models and corpora (more than two are counted), and n, such as `n = 40 segments`."""
    models = _listed([label.model for label in labels], "models")
    corpora = _listed([label.corpus for label in labels], "corpora")
    runs = "; ".join(dict.fromkeys(label.run for label in labels))
    parts = [f"{runs}: {models} on {corpora}", count]
    if any(label.stand_in for label in labels):
        parts.append("generated text and a small random model stand for those named")
    elif any(label.sample for label in labels) and "generated" not in corpora:
        parts.append("generated text")
    return "; ".join(filter(None, parts)) + "."


def _listed(names: list[str], plural: str) -> str:
    different = list(dict.fromkeys(names))
    return " and ".join(different) if len(different) <= 2 else f"{len(different)} {plural}"


@dataclass(frozen=True)
class DrawnFigure:
    """A figure, the numbers that it shows, and the size of its sample, such as `n = 40 segments`."""

    figure: Figure
    frame: pd.DataFrame
    note: str = ""

    def write(self, files: Mapping[str, str | Path], labels: Mapping[str, RunLabel], run_title: str = "", **_: Any) -> None:
        """Save the figure with its footnote in several formats (svg, png, pdf -> file), without dates, close it, and save its
        numbers (`tsv`)."""
        bounds = lay_out(self.figure, footnote(labels.values(), self.note) if labels else f"{run_title}: {self.note}.")
        for kind in [kind for kind in files if kind in _FORMATS]:
            with whole_file(files[kind]) as part:
                self.figure.savefig(part, format=kind, metadata=_FORMATS[kind], bbox_inches=bounds)
        plt.close(self.figure)
        if "tsv" in files:
            write_table(self.frame, files["tsv"])


def lay_out(figure: Figure, footnote: str) -> Bbox:
    """Fix the layout of a figure, once for all formats, and write its footnote below; returns the bounds to save, in inches."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    for legend in figure.legends:
        # In figure coordinates: `savefig` enlarges the figure's box by the footnote, which would move the legend.
        if legend.get_bbox_to_anchor() is figure.bbox:
            legend.set_bbox_to_anchor((0.0, 0.0, 1.0, 1.0), transform=figure.transFigure)
    width = figure.get_figwidth()
    drawn = figure.get_tightbbox()
    bottom = min(0.0, drawn.y0 / figure.get_figheight())
    note = figure.text(0.5, bottom, "", ha="center", va="top", fontsize=_FOOTNOTE, color=NOTE, linespacing=1.3)
    _wrap(note, footnote, (width - 2 * _MARGIN) * figure.dpi)
    content = Bbox.union([drawn, note.get_window_extent().transformed(figure.dpi_scale_trans.inverted())]).padded(_MARGIN)
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


def legend_below(figure: Figure, axes: Iterable[Axes], columns: int, extra: Iterable[Any] = ()) -> Legend:
    """Replace the legends of panels by one legend below all of them, with each label once.

    columns: fewer if they do not fit into the figure; extra: additional handles.
    """
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
        legend = axis.get_legend()
        if legend is not None:
            legend.remove()
    handles |= {str(handle.get_label()): handle for handle in extra}
    style: dict[str, Any] = {"loc": "outside lower center", "columnspacing": 1.4, "handlelength": 2.2}
    count = min(columns, len(handles))
    while True:
        drawn = figure.legend(list(handles.values()), list(handles), ncols=count, **style)
        if count <= 1 or drawn.get_window_extent().width <= figure.bbox.width:
            return drawn
        drawn.remove()
        count -= 1


def centred_edges(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Edges of about 25 equal bins over the range of `values` and 0, one of them centred on 0: no change."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    width = max(high - low, 0.1) / 25
    first, last = int(np.floor(low / width + 0.5)), int(np.floor(high / width + 0.5))
    return np.asarray(width * (np.arange(first, last + 2) - 0.5), dtype=np.float64)


INTERVAL, VALUE = ("pi", 100), "median"
"""Error bar and estimator of `interval_rows`: from the lowest to the highest of the three rows of a value; the middle one."""


def interval_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Three rows for each row of a table (value, ci_low, ci_high, and others): its value and both ends of its interval, at most
    up to the value."""
    keys = table.drop(columns=["value", "ci_low", "ci_high"])
    ends = (table["value"], table["ci_low"].clip(upper=table["value"]), table["ci_high"].clip(lower=table["value"]))
    return pd.concat([keys.assign(value=values) for values in ends], ignore_index=True)


@dataclass(frozen=True)
class Quantity:
    """How a quantity is drawn: title of an axis or a colour bar, with the unit; name in a legend or a title; colour; marker."""

    axis: str
    name: str
    colour: str
    marker: str = "o"

    @property
    def title(self) -> str:
        """Title of a panel whose axis says that it shows attention: `To [SEP]`."""
        text = self.axis.removeprefix("Attention ")
        return text[0].upper() + text[1:]


TO_CLS = Quantity("Attention to [CLS]", "[CLS]", VERMILION, "o")
TO_SEP = Quantity("Attention to [SEP]", "[SEP]", BLUE, "s")
SEP_TO_SEP = Quantity("Attention from [SEP] to [SEP]", "[SEP] to [SEP]", SKY, "D")
TO_PUNCTUATION = Quantity("Attention to . and ,", ". and ,", PURPLE, "^")
TO_OTHERS = Quantity("Attention to other tokens", "other tokens", GREEN, "v")
TO_NEXT = Quantity("Attention to the next token", "next token", GREEN, ">")
TO_PREVIOUS = Quantity("Attention to the previous token", "previous token", BLACK, "<")
OTHERS_TO_SEP = Quantity("Attention from other tokens to [SEP]", "other tokens to [SEP]", BLUE, "s")
"""Kinds of key token; shares of the attention of a query, 0 to 1."""

ATTENTION = Quantity("Mean attention (share)", "attention", BLUE)
WEIGHT = Quantity("Attention weight", "attention weight", BLUE)
ENTROPY = Quantity("Entropy of attention (nats)", "entropy", BLUE)
ENTROPY_OF_CLS = Quantity("Entropy of attention (nats)", "entropy of [CLS]", VERMILION, "s")
COSINE = Quantity("Cosine similarity", "cosine similarity", BLUE)
SHARE_OF_MAPS = Quantity("Share of maps (%)", "share of maps", BLUE)
ACCURACY = Quantity("Accuracy (%)", "accuracy", BLUE)
BLEU = Quantity("BLEU", "BLEU", BLUE)
F1 = Quantity("F1 (%)", "F1", BLUE)

LOSS, UNCHANGED = VERMILION, GREY
"""Colours of a score that falls, or does not change."""

LAYER, HEAD = "Layer", "Head"
"""Titles of axes that count from 1."""


def change(metric: str) -> str:
    """Title of an axis: the change of a score on a scale of 0 to 100."""
    return f"Change in {metric} (percentage points)"
