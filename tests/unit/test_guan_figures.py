"""The figures of Guan et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from largest_tables import HEADS, LABEL, LAYERS, all_heads, combined, generator, long_labels, write
from text_boxes import saved_figures

from attention_atlas.methods.distance_features import FEATURES
from attention_atlas.methods.head_type_names import TYPES, UNNAMED
from attention_atlas.studies.guan2020.figure1 import figure1
from attention_atlas.studies.guan2020.figure2 import figure2
from attention_atlas.studies.guan2020.figure3 import figure3
from attention_atlas.studies.guan2020.figure4 import figure4
from attention_atlas.studies.guan2020.figure5 import figure5
from attention_atlas.studies.guan2020.names import FITS
from attention_atlas.studies.guan2020.study import STUDY

ALL_TYPES = (*TYPES, UNNAMED)
MODELS = ("pretrain", "squad", "mrpc", "mnli", "qnli", "stsb")


def heads_with_types(values=None):
    heads = all_heads()[["layer", "head"]]
    types = [ALL_TYPES[k % len(ALL_TYPES)] for k in range(len(heads))]
    return pd.concat([heads.assign(type=types), pd.DataFrame(values or {}, index=heads.index)], axis=1)


def summary(folder):
    return write(pd.DataFrame({"quantity": ["examples"], "value": [12345]}), folder / "summary.tsv")


def of_figure1(folder, size=60):
    cells = combined({"type": ALL_TYPES, "rank": [1, 2], "query": range(1, size + 1), "key": range(1, size + 1)})
    cells["key_token"] = ["[CLS]" if key == 1 else "[SEP]" if key in (2, size) else "a" for key in cells["key"]]
    cells = cells.assign(layer=LAYERS, head=HEADS, weight=generator().random(len(cells)))
    features = {name: generator().random(LAYERS * HEADS) for name in FEATURES}
    return partial(
        figure1, write(cells, folder / "m.tsv"), write(heads_with_types(features), folder / "t.tsv"), summary(folder), LABEL
    )


def of_figure2(folder):
    places = generator().normal(size=(2, LAYERS * HEADS))
    agreement = pd.DataFrame({"aspect": ["x"], "silhouette": [0.47]})
    plane = write(heads_with_types({"x": places[0], "y": places[1]}), folder / "p.tsv")
    return partial(figure2, plane, write(agreement, folder / "a.tsv"), summary(folder), LABEL)


def of_figure3(folder):
    rows = combined({"layer": range(1, LAYERS + 1), "type": ALL_TYPES}, {"heads": 3})
    return partial(figure3, write(rows, folder / "l.tsv"), summary(folder), LABEL)


def of_figure4(folder):
    rows = combined({"model": MODELS, "fit": FITS}).merge(heads_with_types(), how="cross")
    return partial(figure4, write(rows, folder / "m.tsv"), long_labels(MODELS))


def of_figure5(folder, cells=8):
    rows = heads_with_types({"example": "SQuAD-v1.1-dev-12345-67-8", "pieces": 384})
    rows = rows.merge(combined({"row": range(1, cells + 1), "column": range(1, cells + 1)}), how="cross")
    return partial(figure5, write(rows.assign(weight=generator().random(len(rows))), folder / "g.tsv"), LABEL)


def test_figure1_shows_no_token_of_the_text(tmp_path):
    """Its picture is passed on; its numbers name the tokens, and are not."""
    draw = of_figure1(tmp_path)
    cells = pd.read_csv(tmp_path / "m.tsv", sep="\t")
    cells["key_token"] = cells["key_token"].replace("a", "zebra")
    write(cells.assign(query_token="zebra"), tmp_path / "m.tsv")
    with saved_figures() as figures:
        draw({"png": tmp_path / "figure1.png"})
    texts = " ".join(figures[0].texts)
    assert "[CLS]" in texts
    assert "zebra" not in texts
    artifact = next(artifact for artifact in STUDY.artifacts if artifact.id == "figure1")
    assert artifact.text_files == ("figure1.tsv",)


FIGURES = {f"figure{k}": globals()[f"of_figure{k}"] for k in range(1, 6)}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_largest_shape_can_be_read(tmp_path, name):
    draw = FIGURES[name](tmp_path)
    with saved_figures() as figures:
        draw({"png": tmp_path / f"{name}.png"})
    assert len(figures) == 1
    assert figures[0].problems == []
    texts = " ".join(figures[0].texts).replace("\n", " ")
    assert {"figure3": "published 26.6 %", "figure4": "same as SQuAD: 100 % (n = 308)"}.get(name, "") in texts
    if name == "figure2":
        named = [text for text in figures[0].texts if text.count("-") == 1 and text.replace("-", "").isdigit()]
        assert 20 < len(named) < LAYERS * HEADS
        assert np.unique(named).size == len(named)
