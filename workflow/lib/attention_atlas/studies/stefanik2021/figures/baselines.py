"""Figure: scores of all methods that find keyphrases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from attention_atlas.figures.style import BLUE, ORANGE, PURPLE, SKY, VERMILION, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.names import EXACT, F1_5, F1_10, F1_M, HEAD, METHOD_TITLES, REGRESSION, TAGGER

_METRICS = {
    F1_5: ("F1@5", SKY, "o"),
    F1_10: ("F1@10", BLUE, "s"),
    F1_M: ("F1@M", ORANGE, "^"),
    EXACT: ("Phrase F1", VERMILION, "D"),
}


def baselines(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw the scores of all methods that find keyphrases.

    Args:
        path: table `baselines.BASELINES`.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["method", "metric", "value", "ci_low", "ci_high", "documents", "encoder"])
    methods = [name for name in METHOD_TITLES if (table["method"] == name).any()][::-1]
    use_style()
    figure, axis = plt.subplots(figsize=(7.0, 0.62 * len(methods) + 1.1), constrained_layout=True)
    for number, (metric, (title, colour, mark)) in enumerate(_METRICS.items()):
        scores = table[table["metric"] == metric].set_index("method").loc[methods]
        places = np.arange(len(methods)) + 0.24 - 0.16 * number
        interval = np.array([scores["value"] - scores["ci_low"], scores["ci_high"] - scores["value"]]).clip(min=0)
        axis.errorbar(scores["value"], places, xerr=interval, label=title, fmt=mark, color=colour, markersize=4.5, linewidth=1)
    for place, name in enumerate(methods):
        if name in (HEAD, REGRESSION, TAGGER):
            axis.axhspan(place - 0.45, place + 0.45, color=PURPLE, alpha=0.08, linewidth=0)
    axis.set_yticks(range(len(methods)), [METHOD_TITLES[name] for name in methods])
    axis.set_xlabel("F1, %")
    axis.set_xlim(0, 100)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    note = (
        f"n = {table['documents'].iloc[0]} test documents with a keyphrase in their text; bars: 95 % interval by bootstrap "
        "over them. M: as many phrases as a method proposes (a ranker: the number that is best on development documents). "
        "Shaded: from this model's attention or weights."
    )
    encoders = table["encoder"].dropna().unique()
    if len(encoders):
        note += f" Embedding ranker: {encoders[0]}."
    save_figure(figure, pictures, f"{label.line}\n{note}")
