"""Figure 5: heads that correspond to linguistic relations, each on two sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from attention_atlas.figures.attention_lines import draw_attention_lines
from attention_atlas.figures.style import BLUE, VERMILION, save_figure, use_style
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


def figure5(
    weights_path: str | Path,
    sentences: str | Mapping[str, Sequence[str]],
    label: RunLabel,
    coreference: str,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw one row a relation, one panel a sentence, from the table of weights.

    Args:
        weights_path: table of `drawn_heads`.
        sentences: `auto`, or relation -> sentences that the run names.
        label: run, model and corpus.
        coreference: title of the corpus of the row of coreference, "" where there is none.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    chosen = (
        "Sentences picked because the head is right on them: the share of right words is in the titles."
        if isinstance(sentences, str)
        else f"Sentences of {', '.join(sentences)} named by the run; others picked because the head is right on them."
    )
    table = read_table(weights_path, ["relation", "example", "layer", "head", "direction", "from_word", "weight", "marked"])
    use_style()
    relations = list(table.groupby("relation", sort=False))
    longest = int(table["from_position"].max())
    columns = int(table["example"].max())
    size = (3.4 * columns, (0.17 * longest + 0.55) * len(relations))
    figure, grid = plt.subplots(len(relations), columns, figsize=size, constrained_layout=True, squeeze=False)
    for row, (relation, of_relation) in zip(grid, relations, strict=True):
        for axes in row:
            axes.axis("off")
        for axes, (_, panel) in zip(row, of_relation.groupby("example"), strict=False):
            _draw(axes, panel)
        row[0].set_title(_title(str(relation), of_relation.iloc[0]), loc="left", fontsize=9)
    note = (
        "Orange: lines of the relation; the darker a line, the larger the weight. pobj: [CLS] and [SEP] left out, coreference: "
        f"other sentences of the window left out; rows renormalised.\n{chosen}"
    )
    corpus = f" Coreference: {coreference}." if coreference else ""
    save_figure(figure, pictures, f"{label.line}{corpus}\n{note}")


def _draw(axes: Axes, panel: pd.DataFrame) -> None:
    n = int(panel["from_position"].max())
    marked = panel["marked"].to_numpy().reshape(n, n).astype(bool)
    forward = panel["direction"].iloc[0] in _FORWARD
    bold = [i for i in range(n) if (marked[i].all() if forward else marked[:, i].all())]
    words = panel["from_word"].astype(str).to_numpy()[::n].tolist()
    draw_attention_lines(axes, words, panel["weight"].to_numpy().reshape(n, n), BLUE, marked, VERMILION, bold)


def _title(relation: str, first: pd.Series) -> str:
    dependents, heads = _NAMES.get(relation, ("dependents", "heads"))
    source, goal = (dependents, heads) if first["direction"] in _FORWARD else (heads, dependents)
    accuracy = f", {100 * first['accuracy']:.1f} % right" if pd.notna(first["accuracy"]) else ""
    return f"Head {first['layer']}-{first['head']}: {source} attend to their {goal} ({relation}{accuracy})"
