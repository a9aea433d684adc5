"""Figure 3: the attention of every head between words that evoke a frame and elements of its core."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.quantities import HEAD, LAYER, WEIGHT
from attention_atlas.figures.style import DIVERGING, PAGE, SEQUENTIAL, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.studies.kovaleva2019.published_maps import PUBLISHED, PUBLISHED_MODEL, digitised

_WORDS = {
    "fe_to_target": "from the element to the target",
    "target_to_fe": "from the target to the element",
    "both": "in both directions",
}
_PAIRING = {"zip": "tokens paired one by one", "all": "all pairs of tokens"}


def figure3(
    path: str | Path, direction: str, pairing: str, label: RunLabel, out: str | Path, pictures: Mapping[str, str | Path]
) -> None:
    """Draw the mean largest weights, their differences from pairs at the same distance, and the published weights.

    Args:
        path: of `frame_heads`.
        direction, pairing: of the figure.
        label: run, model and corpus.
        out: the table with a column for what n counts.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ["layer", "head", "value", "control", "margin", "margin_all_low", "n"])
    write_table(table.assign(unit="sentences"), out)
    published = digitised("fig3_framenet").rename(columns={"mean_max_weight": "value"})
    bound = float(table["margin"].abs().max())
    sure = table[table["margin_all_low"] > 0].nlargest(max(1, len(table) // 20), "margin")
    marked = list(zip(sure["layer"], sure["head"], strict=True))
    height = max(1.9, 0.1 * int(table["layer"].max()) + 0.9)
    figure, grid = page_figure(1, 3, PAGE, height + 0.3)
    largest = max(float(table["value"].max()), float(published["value"].max()))
    first = draw_head_grid(grid[0, 0], table, "value", SEQUENTIAL, 0, largest)
    second = draw_head_grid(grid[0, 1], table, "margin", DIVERGING, -bound, bound, marked)
    draw_head_grid(grid[0, 2], published, "value", SEQUENTIAL, 0, largest)
    titles = ("Mean largest weight", "Minus pairs at the same distance", f"{PUBLISHED.capitalize()} ({PUBLISHED_MODEL})")
    for axis, title in zip(grid[0], titles, strict=True):
        axis.set_title(title)
        axis.set(xlabel=HEAD, ylabel=LAYER)
    figure.colorbar(first, ax=grid[0, 0], label=WEIGHT.axis, location="bottom")
    figure.colorbar(second, ax=grid[0, 1], label="Difference of weights", location="bottom")
    figure.colorbar(first, ax=grid[0, 2], label=WEIGHT.axis, location="bottom")
    n = int(table["n"].iloc[0])
    save_figure(figure, pictures, footnote(label, f"n = {n} sentences, {_WORDS[direction]}, {_PAIRING[pairing]}"))
