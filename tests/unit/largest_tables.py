"""Tables of the largest shape that figures are drawn from: 24 layers of 16 heads, all tasks, long names."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.io.tables import RunLabel

LAYERS, HEADS = 24, 16
MODEL = "bert-large-uncased-whole-word-masking-finetuned-squad"
CORPUS = "OntoNotes 5.0 English, CoNLL-2012 split, development documents"
LABEL = RunLabel("Full run with the papers' models and corpora", MODEL, CORPUS, sample=True)


def long_labels(roles: Any) -> dict[str, RunLabel]:
    """Role -> a label with a long name of a corpus, another one for each role."""
    return {role: RunLabel(LABEL.run, MODEL, f"{CORPUS}, {role} part", sample=True) for role in roles}


def all_heads(kinds: Any = ("enc_enc",)) -> pd.DataFrame:
    """kind, layer and head of all heads."""
    return combined({"kind": kinds, "layer": range(1, LAYERS + 1), "head": range(1, HEADS + 1)})


def combined(*parts: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of all combinations of the values of the first part's keys, with the constants of the others."""
    index = pd.MultiIndex.from_product(list(parts[0].values()), names=list(parts[0]))
    frame = index.to_frame(index=False)
    for part in parts[1:]:
        frame = frame.assign(**part)
    return frame


def generator() -> np.random.Generator:
    """The same numbers in every test."""
    return np.random.default_rng(31)
