"""One legend for all panels of a figure, below them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend


def legend_below(figure: Figure, axes: Iterable[Axes], columns: int, extra: Iterable[Any] = (), **options: Any) -> Legend:
    """Replace the legends of panels by one legend below all of them, where it covers no data.

    Args:
        figure: the figure, in constrained layout.
        axes: the panels. Each label occurs once in the legend, in the order of its first panel.
        columns: columns of the legend; fewer if they do not fit into the figure.
        extra: additional handles with their own labels.
        options: other arguments of `Figure.legend`.
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
        drawn = figure.legend(list(handles.values()), list(handles), ncols=count, **(style | options))
        if count <= 1 or drawn.get_window_extent().width <= figure.bbox.width:
            return drawn
        drawn.remove()
        count -= 1
