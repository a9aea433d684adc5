"""The figures of Clark et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from largest_tables import CORPUS, HEADS, LABEL, LAYERS, all_heads, combined, generator
from text_boxes import saved_figures

from attention_atlas.methods.surface import MEASURES
from attention_atlas.studies.clark2019 import figures as clark_figures
from attention_atlas.studies.clark2019.figures import BEHAVIOURS
from attention_atlas.studies.clark2019.maps import FIGURE5_RELATIONS, KINDS, WINDOW, weights_frame

LONG_WORDS = ["[CLS]", "incomprehensib", "counterrevolut", "$1,234,567.89", "misunderstandi", "of", "the", "characteristic"]


def surface():
    rows = all_heads()[["layer", "head"]].merge(pd.DataFrame({"measure": MEASURES}), how="cross")
    value = generator().random(len(rows)) ** 3
    frame = rows.assign(value=value, ci_low=value * 0.9, ci_high=value * 1.1, n=12345, unit="documents", units=999)
    frame.loc[frame["measure"].str.startswith("entropy"), "value"] *= 4.8
    return frame


def panel(words, unit, **labels):
    n = len(words)
    return weights_frame(generator().dirichlet(np.full(n, 0.1), size=n), words, unit, **labels)


def of_figure1():
    tokens = [*LONG_WORDS, *LONG_WORDS][:WINDOW]
    parts = [panel(tokens, "token", kind=kind, layer=24, head=16, value=4.0, example="document 12345") for kind in KINDS]
    return {"figure1_weights": pd.concat(parts)}


def of_figure2(random=None):
    return {"surface": surface(), "random": surface() if random is None else surface().assign(value=random)}


def of_figure3():
    keys = {"masking": ["masked", "unmasked"], "measure": ["per_weight", "per_query", "gradient_x_attention"]}
    rows = combined(keys | {"target": ["sep", "cls", "punct", "other"]}, {"rows": "predicted", "n": 12345, "mlm_head": "x"})
    rows = rows.merge(all_heads()[["layer", "head"]], how="cross")
    rows = rows.assign(value=10 ** generator().normal(-4, 2, len(rows)))
    return {"gradients": rows}


def of_figure4():
    return {"surface": surface(), "surface_summary": pd.DataFrame({"quantity": ["uniform_entropy"], "value": [4.79]})}


def of_figure5(short=()):
    parts = []
    for relation in (*FIGURE5_RELATIONS, "coreference"):
        for example in (1,) if relation in short else (1, 2):
            words = [*LONG_WORDS, *LONG_WORDS][: 14 - example]
            labels = {"layer": 24, "head": 16, "direction": "head_to_dependent", "accuracy": 0.9999}
            part = panel(words, "word", relation=relation, example=example, sentence="s", **labels)
            parts.append(part.assign(marked=(part["to_position"] == 3).astype(int)))
    return {"figure5_weights": pd.concat(parts), "titles": {"coreference": CORPUS}}


def of_figure6():
    heads = all_heads()[["layer", "head"]]
    places = generator().normal(size=(len(heads), 2))
    names = list(BEHAVIOURS)
    heads = heads.assign(x=places[:, 0], y=places[:, 1], behaviour=[names[k % len(names)] for k in range(len(heads))])
    heads["relation"] = None
    heads.loc[[7, 100, 101, 200, 300], "relation"] = [*FIGURE5_RELATIONS[:4], "coreference, pobj"]
    return {
        "clustering": heads,
        "surface_summary": pd.DataFrame({"quantity": ["segments"], "value": [12345]}),
    }


FIGURES = {
    "figure1": of_figure1,
    "figure2": of_figure2,
    "figure2 with narrow bands": partial(of_figure2, random=0.1),
    "figure3": of_figure3,
    "figure4": of_figure4,
    "figure5": of_figure5,
    "figure5 with one sentence of a relation": partial(of_figure5, short=FIGURE5_RELATIONS[:1]),
    "figure5 with one sentence in a row of relations": partial(of_figure5, short=FIGURE5_RELATIONS[1:3]),
    "figure6": of_figure6,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_largest_shape_can_be_read(tmp_path, name):
    draw = getattr(clark_figures, name.partition(" ")[0])
    with saved_figures() as figures:
        draw(**FIGURES[name]()).write({"png": tmp_path / f"{name}.png"}, {"segments": LABEL})
    assert len(figures) == 1
    assert figures[0].problems == []
    assert any(CORPUS[:20] in text for text in figures[0].texts)
    assert HEADS * LAYERS == 384
