"""Which heads and examples Figures 1 and 5 draw, and the weights of their lines."""

import numpy as np
import pandas as pd
import pytest
from clark_inputs import sentence

from attention_atlas.attention.cache import CachedExample
from attention_atlas.errors import AtlasError
from attention_atlas.studies.clark2019.figures import figure1, figure5
from attention_atlas.studies.clark2019.maps import figure1_weights, relation_weights

WORDS = ("the", "old", "dog", "saw", "a", "cat")
HEADS = (3, 3, 4, 0, 6, 4)
LABELS = ("det", "amod", "nsubj", "root", "det", "dobj")


def random_maps(n, seed):
    raw = np.random.default_rng(seed).random((2, 2, n, n)) ** 3
    return raw / raw.sum(axis=-1, keepdims=True)


def cached(example, maps):
    return CachedExample(example.record, example.id, "tokens", example.tokens, example.word, example.words, maps)


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
    maps = random_maps(17, seed=1)
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
    names = ["...", *(f"t{i}" for i in range(2, 12)), "##", "the", "x", "[SEP]"]
    assert panel["to_token"].tolist()[:15] == panel["from_token"].tolist()[::15] == names
    # Heads that are named are drawn with their own values; a kind of head that the model cannot have is left out.
    table = figure1_weights(segment(maps), STRONGEST, [[2, 2], [1, 1], [1, 1], [2, 1]])
    drawn = table.groupby("kind", sort=False)[["layer", "head", "value"]].first()
    np.testing.assert_allclose(drawn, [[2, 2, 0.22], [1, 1, 0.11], [1, 1, 0.11], [2, 1, 0.21]])
    table = figure1_weights(segment(maps), STRONGEST.query("measure != 'sep'"), "auto")
    assert table["kind"].unique().tolist() == ["broad", "next token", "punctuation"]
    with pytest.raises(AtlasError, match="no segment has 15 tokens"):
        figure1(pd.DataFrame(columns=["kind"]))


def test_heads_that_the_model_does_not_have_are_errors():
    for wrong in ([3, 1], [1, 3], [0, 1], [2, 0]):
        with pytest.raises(AtlasError, match=f"figure1_heads: the model has no head {wrong[0]}-{wrong[1]}"):
            figure1_weights(segment(random_maps(17, 0)), STRONGEST, [wrong, [1, 1], [1, 1], [1, 1]])


# --- Figure 5 --------------------------------------------------------------------------------------------------------


def tree(record, words=WORDS, heads=HEADS, labels=LABELS):
    return sentence(words, heads, labels, record)


def looking(example, right, forward=True, strength=0.6):
    """Maps in which head 2-1 links the dependents numbered in `right` to their heads, and looks at [SEP] otherwise."""
    n = len(example.words)
    maps = np.zeros((2, 2, n + 2, n + 2))
    maps[:, :, :, n + 1] = 1 - strength
    maps[..., 1 : n + 1, 1 : n + 1] = 0.01
    for dependent in range(1, n + 1):  # by default the word before
        maps[..., dependent, (dependent - 2) % n + 1] = strength
    for dependent in right:
        head = example.layers["heads"][dependent - 1]
        row, column = (dependent, head) if forward else (head, dependent)
        maps[1, 0, row, 1 : n + 1] = 0.01
        maps[1, 0, row, column] = strength
    return maps


def drawn_sentences(examples, maps, heads="auto", **best):
    best = best or {"det": (2, 1, "dependent_to_head")}
    rows = [(relation, *place, 0.75) for relation, place in best.items()]
    table = pd.DataFrame(rows, columns=["relation", "layer", "head", "direction", "accuracy"])
    return relation_weights(examples, map(cached, examples, maps), table, heads)


def names(table):
    return table.drop_duplicates("example")["sentence"].tolist()


def test_sentences_where_the_head_works_best_are_drawn():
    examples = [tree(i) for i in range(4)]
    rights = [([1], 0.6), ([1, 5], 0.5), ([], 0.6), ([1, 5], 0.7)]
    maps = [looking(e, right, strength=strength) for e, (right, strength) in zip(examples, rights, strict=True)]
    table = drawn_sentences(examples, maps)
    assert names(table) == ["s3", "s1"]
    assert set(table["accuracy"]) == {0.75}
    first = table[table["example"] == 1]
    # What the head puts on [SEP] is seen.
    np.testing.assert_allclose(first["weight"], maps[3][1, 0].ravel(), atol=1e-3)
    assert first["from_word"].tolist()[::8] == first["to_word"].tolist()[:8] == ["[CLS]", *WORDS, "[SEP]"]
    # Objects of prepositions are drawn without [CLS] and [SEP].
    example = tree(0, labels=tuple("pobj" if label == "det" else label for label in LABELS))
    maps = looking(example, right=[1, 5])
    table = drawn_sentences([example], [maps], pobj=(2, 1, "dependent_to_head"))
    inner = maps[1, 0, 1:-1, 1:-1]
    np.testing.assert_allclose(table["weight"], (inner / inner.sum(axis=1, keepdims=True)).ravel(), atol=1e-3)
    # Heads that are named have no accuracy unless they are the best ones; the direction is that of the relation.
    maps = [looking(tree(0), right=[1, 5])]
    heads = {"det": [1, 2], "amod": [2, 1], "coreference": [1, 1]}
    table = drawn_sentences([tree(0)], maps, heads=heads, det=(2, 1, "head_to_dependent"))
    drawn = table.groupby("relation", sort=False)[["layer", "head", "direction"]].first().to_numpy().tolist()
    assert drawn == [[1, 2, "head_to_dependent"], [2, 1, "dependent_to_head"]]
    assert table["accuracy"].isna().all()
    assert set(drawn_sentences([tree(0)], maps, heads={"det": [2, 1]})["accuracy"]) == {0.75}


@pytest.mark.parametrize(("direction", "forward"), [("dependent_to_head", True), ("head_to_dependent", False)])
def test_lines_of_the_relation_are_marked_in_both_directions(direction, forward):
    # In the second sentence the determiners attend to their nouns in the other direction.
    examples = [tree(0), tree(1)]
    maps = [looking(examples[0], right=[1, 5], forward=forward), looking(examples[1], right=[1, 5], forward=not forward)]
    table = drawn_sentences(examples, maps, det=(2, 1, direction))
    assert names(table) == ["s0", "s1"]
    marked = table[table["example"] == 1]["marked"].to_numpy().reshape(8, 8)
    expected = np.zeros((8, 8), dtype=int)
    expected[[1, 5]] = 1
    np.testing.assert_array_equal(marked, expected if forward else expected.T)


def test_sentences_too_short_too_long_or_of_long_words_are_not_drawn():
    examples = [
        tree(0, WORDS[:5], (3, 3, 4, 0, 4), LABELS[:5]),
        tree(1, ("incomprehensible", *WORDS[1:])),
        tree(2, ("the",) * 8 + WORDS[1:], (0, *range(1, 13)), ("root", *["det"] * 12)),
        tree(3),
    ]
    maps = [looking(e, right=[i + 1 for i, label in enumerate(e.layers["relations"]) if label == "det"]) for e in examples]
    assert names(drawn_sentences(examples, maps)) == ["s3"]
    with pytest.raises(AtlasError, match="no sentence of 6 to 12 words has a relation"):
        figure5(drawn_sentences(examples[:3], maps[:3]), {})
