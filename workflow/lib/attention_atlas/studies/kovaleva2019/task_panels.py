"""Panels for each task (Figures 8 and 9), and what they call its metric."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_atlas.figures.style import use_style

METRIC_TITLES = {"accuracy": "accuracy", "f1": "F1", "correlation": "Pearson/Spearman"}


def task_panels(tasks: Sequence[str], size: tuple[float, float], margin: tuple[float, float]) -> tuple[Figure, dict[str, Axes]]:
    """A figure with a panel for each task, up to four in a row.

    Args:
        tasks: in their order.
        size: of a panel, in inches.
        margin: around all panels, in inches.

    Returns:
        The figure, and task -> panel.
    """
    columns = min(4, len(tasks))
    rows = -(-len(tasks) // columns)
    use_style()
    inches = (size[0] * columns + margin[0], size[1] * rows + margin[1])
    figure, axes = plt.subplots(rows, columns, figsize=inches, constrained_layout=True, squeeze=False)
    for axis in axes.flat[len(tasks) :]:
        axis.axis("off")
    return figure, dict(zip(tasks, axes.flat, strict=False))
