"""Which heads and examples Figures 1 and 5 draw, and the weights of their lines."""

import numpy as np
import pandas as pd
import pytest
from clark_inputs import cached, sentence

from attention_atlas.attention.cache import CachedExample
from attention_atlas.errors import AtlasError
from attention_atlas.studies.clark2019.maps import figure1_weights, relation_weights

WORDS = ("the", "old", "dog", "saw", "a", "cat")
HEADS = (3, 3, 4, 0, 6, 4)
LABELS = ("det", "amod", "nsubj", "root", "det", "dobj")


def segment(maps):
    n = len(maps[0, 0])
    tokens = ("[CLS]", *(f"t{i}" for i in range(n - 5)), "##", "Ġthe", "##x", "[SEP]")
    return CachedExample(1, "seg1", "tokens", tokens, (-1, *range(n - 2), -1), (), maps)


PLACES = dict(zip(("entropy", "next", "sep", "punct"), np.ndindex(2, 2), strict=True))
STRONGEST = pd.DataFrame(
    [
        (measure, layer + 1, head + 1, 0.9 if place == (layer, head) else 0.11 + 0.1 * layer + 0.01 * head)
        for measure, place in PLACES.items()
        for layer, head in np.ndindex(2, 2)
    ],
    columns=["measure", "layer", "head", "value"],
)


def test_the_last_tokens_of_a_segment_are_drawn():
    maps = np.random.default_rng(1).random((2, 2, 17, 17)) ** 3
    maps /= maps.sum(axis=-1, keepdims=True)
    maps[1, 0, 6] = np.eye(17)[0]  # a row that looks out of the window
    table = figure1_weights(segment(maps), STRONGEST, "auto")
    assert table["kind"].unique().tolist() == ["broad", "next token", "[SEP]", "punctuation"]
    for (_, panel), (layer, head) in zip(table.groupby("kind", sort=False), np.ndindex(2, 2), strict=True):
        assert set(zip(panel["layer"], panel["head"], panel["value"], strict=True)) == {(layer + 1, head + 1, 0.9)}
        window = maps[layer, head, 2:, 2:]
        expected = window / np.maximum(window.sum(axis=1, keepdims=True), 1e-9)
        expected[0] = expected[:, 0] = np.nan
        weights = panel.pivot(index="from_position", columns="to_position", values="weight").to_numpy(float)
        np.testing.assert_allclose(weights, expected, atol=1e-6)
    # Heads that are named are drawn with their own values.
    table = figure1_weights(segment(maps), STRONGEST, [[2, 2], [1, 1], [1, 1], [2, 1]])
    drawn = table.groupby("kind", sort=False)[["layer", "head", "value"]].first()
    np.testing.assert_allclose(drawn, [[2, 2, 0.22], [1, 1, 0.11], [1, 1, 0.11], [2, 1, 0.21]])
    with pytest.raises(AtlasError, match="figure1_heads: the model has no head 3-1"):
        figure1_weights(segment(maps), STRONGEST, [[3, 1], [1, 1], [1, 1], [1, 1]])


# --- Figure 5 --------------------------------------------------------------------------------------------------------


def tree(record, labels=LABELS):
    return sentence(WORDS, HEADS, labels, record)


def looking(example, right, strength=0.6):
    """Maps in which head 2-1 links the dependents numbered in `right` to their heads, and looks at [SEP] otherwise."""
    n = len(example.words)
    maps = np.zeros((2, 2, n + 2, n + 2))
    maps[:, :, :, n + 1] = 1 - strength
    maps[..., 1 : n + 1, 1 : n + 1] = 0.01
    for dependent in range(1, n + 1):  # by default the word before
        maps[..., dependent, (dependent - 2) % n + 1] = strength
    for dependent in right:
        maps[1, 0, dependent, 1 : n + 1] = 0.01
        maps[1, 0, dependent, example.layers["heads"][dependent - 1]] = strength
    return maps


def drawn_sentences(examples, maps, **best):
    best = best or {"det": (2, 1, "dependent_to_head")}
    rows = [(relation, *place, 0.75) for relation, place in best.items()]
    table = pd.DataFrame(rows, columns=["relation", "layer", "head", "direction", "accuracy"])
    return relation_weights(examples, map(cached, examples, maps), table, "auto")


def test_sentences_where_the_head_works_best_are_drawn():
    examples = [tree(i) for i in range(4)]
    rights = [([1], 0.6), ([1, 5], 0.5), ([], 0.6), ([1, 5], 0.7)]
    maps = [looking(e, right, strength=strength) for e, (right, strength) in zip(examples, rights, strict=True)]
    table = drawn_sentences(examples, maps)
    assert table.drop_duplicates("example")["sentence"].tolist() == ["s3", "s1"]
    assert set(table["accuracy"]) == {0.75}
    first = table[table["example"] == 1]
    # What the head puts on [SEP] is seen.
    np.testing.assert_allclose(first["weight"], maps[3][1, 0].ravel(), atol=1e-3)
    # Objects of prepositions are drawn without [CLS] and [SEP].
    example = tree(0, labels=tuple("pobj" if label == "det" else label for label in LABELS))
    maps = looking(example, right=[1, 5])
    table = drawn_sentences([example], [maps], pobj=(2, 1, "dependent_to_head"))
    inner = maps[1, 0, 1:-1, 1:-1]
    np.testing.assert_allclose(table["weight"], (inner / inner.sum(axis=1, keepdims=True)).ravel(), atol=1e-3)
