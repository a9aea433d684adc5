"""Figure 5: heads that correspond to linguistic relations, each on two sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from attention_atlas.figures.attention_lines import draw_attention_lines, shortened
from attention_atlas.figures.style import GREY, PAGE, SMALLEST, VERMILION, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD

# Relation -> what the dependent is, what its head is.
_NAMES = {
    "dobj": ("direct objects", "verbs"),
    "det": ("determiners", "nouns"),
    "poss": ("possessors", "nouns"),
    "auxpass": ("passive auxiliaries", "verbs"),
    "pobj": ("objects", "prepositions"),
    "coreference": ("mentions", "antecedents"),
}
_FORWARD = (DEPENDENT_TO_HEAD, "mention_to_antecedent")
_COLUMNS = 3
_LINE, _TITLE = 0.125, 0.52
"""Height of a word, and of a title with the space below a panel, in inches."""


def figure5(
    weights_path: str | Path,
    label: RunLabel,
    coreference: str,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw the relations from the table of weights, three side by side, with the sentences of each one below the other.

    Args:
        weights_path: table of `drawn_heads`.
        label: run, model and corpus of the sentences.
        coreference: title of the corpus of the row of coreference, "" where there is none.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(weights_path, ["relation", "example", "layer", "head", "direction", "from_word", "weight", "marked"])
    relations = list(table.groupby("relation", sort=False))
    columns = min(_COLUMNS, len(relations))
    bands = [relations[start : start + columns] for start in range(0, len(relations), columns)]
    # (relations side by side, example): a row of panels as tall as its longest sentence.
    rows = [
        (band, example) for band in bands for example in sorted({number for _, frame in band for number in frame["example"]})
    ]
    heights = [_LINE * _longest(band, example) + _TITLE for band, example in rows]
    figure, grid = page_figure(len(rows), columns, PAGE, sum(heights), height_ratios=heights)
    for axes in grid.flat:
        axes.axis("off")
    for row, (band, example) in zip(grid, rows, strict=True):
        for axes, (relation, frame) in zip(row, band, strict=False):
            panel = frame[frame["example"] == example]
            if panel.empty:
                continue
            _draw(axes, panel)
            if example == frame["example"].min():
                axes.set_title(_title(str(relation), frame.iloc[0]), fontsize=7.5)
    corpora = f"; coreference: {coreference}" if coreference else ""
    save_figure(figure, pictures, footnote(label, f"n = {table.groupby(['relation', 'example']).ngroups} sentences{corpora}"))


def _longest(band: list[tuple[object, pd.DataFrame]], example: int) -> int:
    """Words of the longest sentence of a row; a relation with fewer examples has none there."""
    positions = [frame.loc[frame["example"] == example, "from_position"] for _, frame in band]
    return int(max(of_sentence.max() for of_sentence in positions if len(of_sentence)))


def _draw(axes: Axes, panel: pd.DataFrame) -> None:
    n = int(panel["from_position"].max())
    marked = panel["marked"].to_numpy().reshape(n, n).astype(bool)
    forward = panel["direction"].iloc[0] in _FORWARD
    bold = [i for i in range(n) if (marked[i].all() if forward else marked[:, i].all())]
    words = [shortened(word) for word in panel["from_word"].astype(str).to_numpy()[::n]]
    weights = panel["weight"].to_numpy().reshape(n, n)
    draw_attention_lines(axes, words, weights, GREY, marked, VERMILION, bold, size=SMALLEST + 0.5)


def _title(relation: str, first: pd.Series) -> str:
    dependents, heads = _NAMES.get(relation, ("dependents", "heads"))
    source, goal = (dependents, heads) if first["direction"] in _FORWARD else (heads, dependents)
    accuracy = f", {100 * first['accuracy']:.1f} % right" if pd.notna(first["accuracy"]) else ""
    return f"Head {first['layer']}-{first['head']}: {relation}{accuracy}\n{source} to {goal}"
