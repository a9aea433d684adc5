"""Figure 3: magnitude of the gradient by target class, in the variants that the paper leaves open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from attention_atlas.figures.by_layer import draw_by_layer, layer_legend
from attention_atlas.figures.quantities import TO_CLS, TO_OTHERS, TO_PUNCTUATION, TO_SEP
from attention_atlas.figures.style import NOTE, PAGE, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_SERIES = (("sep", TO_SEP), ("cls", TO_CLS), ("punct", TO_PUNCTUATION), ("other", TO_OTHERS))
_PANELS = (
    ("masked", "per_weight", "Masked tokens, mean over weights", "Gradient |dL/dA| (nats)"),
    ("unmasked", "per_weight", "All tokens, mean over weights", "Gradient |dL/dA| (nats)"),
    ("masked", "per_query", "Masked tokens, sum over the class", "Gradient |dL/dA| (nats)"),
    ("masked", "gradient_x_attention", "Masked tokens, gradient × attention", "|A dL/dA| (nats)"),
)
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def figure3(table_path: str | Path, rows: str, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw heads as dots and layer means as lines, on a logarithmic scale.

    Args:
        table_path: table of `gradients.measure_gradients`.
        rows: queries of the means, the same set in all panels: one of `gradients.ROWS`.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(table_path, ["masking", "rows", "measure", "target", "layer", "head", "value", "n", "mlm_head"])
    table = table[table["rows"] == rows]
    figure, grid = page_figure(2, 2, PAGE, 5.0, sharex=True)
    if table.empty:
        for axes in grid.flat:
            axes.axis("off")
        grid[0, 0].text(0, 0.5, "The model has no [MASK]: there is no such loss.", color=NOTE)
        save_figure(figure, pictures, footnote(label))
        return
    for axes, (masking, measure, title, quantity) in zip(grid.flat, _PANELS, strict=True):
        panel_rows = table[(table["masking"] == masking) & (table["measure"] == measure)]
        draw_by_layer(axes, panel_rows, _SERIES, "target", "value")
        axes.set_title(title)
        axes.set_ylabel(quantity)
        logarithmic(axes)
    for axes in grid[0]:
        axes.set_xlabel("")
    handles = layer_legend([drawn for key, drawn in _SERIES if (table["target"] == key).any()])
    figure.legend(handles=handles, loc="outside upper center", ncols=4, title="Attention to")
    heads = len(table[["layer", "head"]].drop_duplicates())
    save_figure(figure, pictures, footnote(label, f"n = {int(table['n'].max())} segments, {heads} heads"))


def logarithmic(axes: Axes) -> None:
    """Set a logarithmic vertical axis whose ticks are all written as powers of ten, with 2 and 5 between them if few."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    between = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=between))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))


def power_of_ten(value: float) -> str:
    """A number of one digit as a multiple of a power of ten: 0.0002 is 2×10⁻⁴."""
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = round(value / 10**exponent)
    power = f"10{str(exponent).translate(_SUPERSCRIPT)}"
    return power if digit == 1 else f"{digit}×{power}"
