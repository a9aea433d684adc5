"""The figures of Guan et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from largest_tables import HEADS, LABEL, LAYERS, all_heads, combined, generator, long_labels
from text_boxes import saved_figures

from attention_atlas.methods.head_types import FEATURES, TYPES, UNNAMED
from attention_atlas.studies.guan2020 import figures as guan_figures
from attention_atlas.studies.guan2020.study import STUDY

ALL_TYPES = (*TYPES, UNNAMED)
MODELS = ("pretrain", "squad", "mrpc", "mnli", "qnli", "stsb")


def heads_with_types(values=None):
    heads = all_heads()[["layer", "head"]]
    types = [ALL_TYPES[k % len(ALL_TYPES)] for k in range(len(heads))]
    return pd.concat([heads.assign(type=types), pd.DataFrame(values or {}, index=heads.index)], axis=1)


def of_figure1(size=60):
    cells = combined({"type": ALL_TYPES, "rank": [1, 2], "query": range(1, size + 1), "key": range(1, size + 1)})
    cells["key_token"] = ["[CLS]" if key == 1 else "[SEP]" if key in (2, size) else "a" for key in cells["key"]]
    cells = cells.assign(layer=LAYERS, head=HEADS, weight=generator().random(len(cells)))
    features = {name: generator().random(LAYERS * HEADS) for name in FEATURES}
    return {"maps": cells, "head_types": heads_with_types({"n": 1, **features})}


def of_figure2():
    places = generator().normal(size=(2, LAYERS * HEADS))
    plane = heads_with_types({"x": places[0], "y": places[1]})
    return {"head_type_plane": plane, "head_type_agreement": pd.DataFrame({"silhouette": [0.47]}), "head_types": TYPED}


def of_figure3():
    return {"head_types": TYPED}


def of_figure4():
    return {"models": combined({"model": MODELS, "fit": ["reused", "refitted"]}).merge(heads_with_types(), how="cross")}


def of_figure5(cells=8):
    rows = heads_with_types({"example": "SQuAD-v1.1-dev-12345-67-8", "pieces": 384})
    rows = rows.merge(combined({"row": range(1, cells + 1), "column": range(1, cells + 1)}), how="cross")
    return {"map_grid": rows.assign(weight=generator().random(len(rows)))}


TYPED = heads_with_types({"n": 12345})
FRAMES = {f"figure{k}": globals()[f"of_figure{k}"] for k in range(1, 6)}


def saved(name, frames, folder):
    """The figure as it stands in its file."""
    labels = long_labels(MODELS) if name == "figure4" else {"questions": LABEL}
    with saved_figures() as figures:
        getattr(guan_figures, name)(**frames).write({"png": folder / f"{name}.png"}, labels)
    (figure,) = figures
    return figure


def test_figure1_shows_no_token_of_the_text(tmp_path):
    """Its picture is passed on; its numbers name the tokens, and are not."""
    frames = of_figure1()
    maps = frames["maps"].assign(query_token="zebra", key_token=frames["maps"]["key_token"].replace("a", "zebra"))
    texts = " ".join(saved("figure1", frames | {"maps": maps}, tmp_path).texts)
    assert "[CLS]" in texts
    assert "zebra" not in texts
    assert STUDY.artifact("figure1").text_files == ("figure1.tsv",)


@pytest.mark.parametrize("name", FRAMES)
def test_a_figure_of_the_largest_shape_can_be_read(tmp_path, name):
    figure = saved(name, FRAMES[name](), tmp_path)
    assert figure.problems == []
    texts = " ".join(figure.texts).replace("\n", " ")
    assert {"figure3": "published 26.6 %", "figure4": "same as SQuAD: 100 % (n = 308)"}.get(name, "") in texts
    if name == "figure2":
        named = [text for text in figure.texts if text.count("-") == 1 and text.replace("-", "").isdigit()]
        assert 20 < len(named) < LAYERS * HEADS
        assert np.unique(named).size == len(named)
