"""Figure 3: magnitude of the gradient by target class, in the variants that the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from attention_atlas.figures.by_layer import Series, draw_by_layer
from attention_atlas.figures.style import BLUE, GREEN, ORANGE, PURPLE, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.clark2019.sink import own_sink

_SERIES = [
    Series("sep", "to [SEP]", BLUE, "s"),
    Series("cls", "to [CLS]", GREEN, "D"),
    Series("punct", "to . and ,", PURPLE, "^"),
    Series("other", "to other tokens", ORANGE, "o"),
]
_PANELS = (
    ("masked", "per_weight", "Masked, per weight", "|dL/dA|, mean over weights"),
    ("unmasked", "per_weight", "Unmasked, per weight", "|dL/dA|, mean over weights"),
    ("masked", "per_query", "Masked, summed over the class", "|dL/dA|, sum a query"),
    ("masked", "gradient_x_attention", "Masked, gradient x attention", "|A dL/dA|, mean over weights"),
)


_ROW_WORDS = {
    "predicted": "the queries of predicted tokens, in every layer",
    "all": "all queries; in the last layer the gradient of those that are not predicted is 0",
    "reachable": "all queries, in the last layer those of predicted tokens, which makes a jump there",
}


def figure3(
    table_path: str | Path, surface_path: str | Path, rows: str, label: RunLabel, pictures: Mapping[str, str | Path]
) -> None:
    """Draw heads as dots and layer means as lines, on a logarithmic scale.

    Args:
        table_path: table of `gradients.measure_gradients`.
        surface_path: measures of all heads, for the model's own sink.
        rows: queries of the means, the same set in all panels: one of `gradients.ROWS`.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(table_path, ["masking", "rows", "measure", "target", "layer", "head", "value", "n", "mlm_head"])
    table = table[table["rows"] == rows]
    use_style()
    figure, panels = plt.subplots(2, 2, figsize=(8.4, 6.2), constrained_layout=True)
    if table.empty:
        for axes in panels.flat:
            axes.axis("off")
        panels[0, 0].text(0.5, 0.5, "the model has no [MASK]: there is no such loss", ha="center", color="#555555")
        save_figure(figure, pictures, label.line)
        return
    for axes, (masking, measure, title, quantity) in zip(panels.flat, _PANELS, strict=True):
        panel_rows = table[(table["masking"] == masking) & (table["measure"] == measure)]
        draw_by_layer(axes, panel_rows, _SERIES, "target", "value")
        axes.set_title(title, loc="left")
        axes.set_ylabel(quantity + " (nats)")
        _logarithmic(axes)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    heads = len(table[["layer", "head"]].drop_duplicates())
    head = table["mlm_head"].iloc[0]
    segments = int(table["n"].max())
    footnote = (
        f"{label.line}\nDots: {heads} heads; lines: means. n = {segments} segments. Masked tokens: {head}.\n"
        f"Means over {_ROW_WORDS[rows]}.\n{own_sink(surface_path)}"
    )
    save_figure(figure, pictures, footnote)


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
