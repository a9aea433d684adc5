"""House style of all figures: fonts, colour-blind-safe colours, and files that are the same byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attention_atlas.io.files import whole_file

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
_FORMATS = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {"Software": None}}
_MARGIN = 0.08
"""Inches around a saved figure."""


def use_style() -> None:
    """Set matplotlib's parameters for all figures of the atlas."""
    plt.rcParams.update(
        {
            "figure.dpi": 110,
            "savefig.dpi": 200,
            "font.family": "DejaVu Sans",
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.labelsize": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "legend.fontsize": 8.5,
            "svg.hashsalt": "attention-atlas",
            "svg.fonttype": "none",
            "pdf.fonttype": 42,
        }
    )


def panels(width: float, height: float, count: int = 2) -> tuple[Figure, Any]:
    """A figure of panels side by side, each of a size in inches, and their axes [panel]."""
    use_style()
    figure, axes = plt.subplots(1, count, figsize=(width * count, height), constrained_layout=True, squeeze=False)
    return figure, axes[0]


def plain(text: str) -> str:
    """A text that is drawn as it is: a dollar sign would open a formula."""
    return text.replace("$", r"\$")


def save_figure(figure: Figure, files: Mapping[str, str | Path], footnote: str = "") -> None:
    """Save a figure in several formats, without dates, and close it.

    Args:
        figure: the figure.
        files: format (svg, png, pdf) -> file.
        footnote: small grey line below the figure: run, model, corpus, n.
    """
    if footnote:
        figure.text(0.5, -0.015, footnote, ha="center", va="top", fontsize=7.5, color="#555555", wrap=True)
    # Laid out and measured once for all formats: each of them would do both again, and draw once more with any engine ("none",
    # too) in place.
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    bounds = figure.get_tightbbox().padded(_MARGIN)
    for kind, path in files.items():
        with whole_file(path) as part:
            figure.savefig(part, format=kind, metadata=_FORMATS[kind], bbox_inches=bounds)
    plt.close(figure)
