"""Figure 4: how a frame is annotated, on a sentence of the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from attention_atlas.corpora.frames import ELEMENT, TARGET
from attention_atlas.figures.style import BLUE, ORANGE, plain, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_COLOURS = {TARGET: ORANGE, ELEMENT: BLUE}
_TITLES = {TARGET: "target", ELEMENT: "core element"}
_WIDTH, _GAP = 0.105, 0.18


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
    use_style()
    starts, place = [], 0.0
    for word in words:
        starts.append(place)
        place += _WIDTH * max(len(word), 1) + _GAP
    figure, axes = plt.subplots(figsize=(max(4.5, place * 1.05), 1.9), constrained_layout=True)
    middles: dict[str, list[float]] = {}
    number = 0
    while number < len(words):
        role, stop = roles[number], number + 1
        while role and stop < len(words) and roles[stop] == role:
            stop += 1
        left, right = starts[number], starts[stop - 1] + _WIDTH * len(words[stop - 1])
        axes.text((left + right) / 2, 0, plain(" ".join(words[number:stop])), ha="center", va="center", fontsize=12)
        if role in _COLOURS:
            middles.setdefault(role, []).append((left + right) / 2)
            box = FancyBboxPatch(
                (left, -0.16),
                right - left,
                0.32,
                boxstyle="round,pad=0.06",
                fill=False,
                edgecolor=_COLOURS[role],
                linewidth=1.8,
            )
            axes.add_patch(box)
            axes.text((left + right) / 2, -0.42, _TITLES[role], ha="center", va="center", fontsize=9, color=_COLOURS[role])
        number = stop
    for target in middles.get(TARGET, []):
        for element in middles.get(ELEMENT, []):
            bend = -0.35 if target > element else 0.35
            arrow = FancyArrowPatch(
                (target, 0.24),
                (element, 0.24),
                connectionstyle=f"arc3,rad={-bend}",
                arrowstyle="-",
                mutation_scale=12,
                color="#444444",
            )
            axes.add_patch(arrow)
    frame = table["frame"].iloc[0]
    name = f"frame {frame}" if isinstance(frame, str) and frame else "frame-semantic relation"
    axes.set_title(name.replace("_", " "))
    axes.set_xlim(-0.3, place + 0.1)
    axes.set_ylim(-0.6, 0.95)
    axes.axis("off")
    save_figure(figure, pictures, f"{label.line}\nAn annotated sentence ({table['example'].iloc[0]}): what Figure 3 measures.")
