"""What heads attend to: strongest pairs and kinds of pairs, against loops over single pairs."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from attention_atlas.atlas.sentences import NO_ARC, PART_OF_SPEECH, RELATION, attended, kinds_of_pairs
from attention_atlas.attention.cache import CachedExample
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError

TAGS = ("DET", "NOUN", "VERB")


def corpus(count=6, seed=0):
    """Sentences of one to six words of up to two pieces, with trees, tags and random maps of 2 x 3 heads."""
    chance = np.random.default_rng(seed)
    examples, cached = {}, []
    for record in range(count):
        m = 1 + record % 6
        word = (-1, *np.repeat(np.arange(m), chance.integers(1, 3, size=m)).tolist(), -1)
        n = len(word)
        heads = (0, *(int(chance.integers(1, k + 1)) for k in range(1, m)))
        layers = {
            "heads": heads,
            "relations": tuple("root" if head == 0 else str(chance.choice(["det", "obj"])) for head in heads),
            "upos": tuple(map(str, chance.choice(TAGS, m))),
        }
        words = tuple(f"w{k}" for k in range(m))
        examples[record] = Example(record, f"s{record}", (0,) * n, (0,) * n, ("x",) * n, word, words, layers)
        maps = chance.dirichlet(np.ones(n), size=(2, 3, n)).astype(np.float16)
        cached.append(CachedExample(record, f"s{record}", "tokens", ("x",) * n, word, words, maps))
    return examples, cached


def loops(examples, cached):
    """Every pair with its weight, and shares of kinds, one pair at a time."""
    pairs, weights, even = defaultdict(list), defaultdict(float), defaultdict(float)
    queries = 0
    for sentence in cached:
        example, maps = examples[sentence.record], sentence.maps.astype(np.float64)
        m = len(example.words)
        if m < 2:
            continue
        pieces = [[k for k, mark in enumerate(sentence.word) if mark == word] for word in range(m)]
        queries += m
        for layer, head in np.ndindex(2, 3):
            for q in range(m):
                for k in range(m):
                    if q == k:
                        continue
                    weight = np.mean([sum(maps[layer, head, a, b] for b in pieces[k]) for a in pieces[q]])
                    pairs[layer + 1, head + 1].append((weight, sentence.record, q + 1, k + 1))
                    heads, relations = example.layers["heads"], example.layers["relations"]
                    kind = NO_ARC
                    if heads[q] == k + 1:
                        kind = f"{relations[q]}, to its head"
                    elif heads[k] == q + 1:
                        kind = f"{relations[k]}, to the dependent"
                    for name in ((RELATION, kind), (PART_OF_SPEECH, example.layers["upos"][k])):
                        weights[layer + 1, head + 1, *name] += weight
                        even[name] += 1 / (m - 1) / 6
    return pairs, weights, {name: value / queries for name, value in even.items()}


def test_pairs_and_kinds_are_those_of_loops():
    examples, cached = corpus(18)
    ours = attended(cached, list(examples.values()), 20, 0)
    pairs, weights, even = loops(examples, cached)
    strongest = ours["pairs"].query("selection == 'strongest'")
    for place, rows in strongest.groupby(["layer", "head"]):
        slow = sorted(pairs[place], key=lambda pair: -pair[0])[:20]
        assert rows["rank"].tolist() == list(range(1, 21))
        np.testing.assert_allclose(rows["weight"], [pair[0] for pair in slow], rtol=1e-5)
        assert list(zip(rows["record"], rows["query"], rows["key"], strict=True)) == [pair[1:] for pair in slow]
    slow = pd.Series(weights).rename_axis(["layer", "head", "of", "kind"])
    slow /= slow.groupby(level=[0, 1, 2]).transform("sum")
    kinds = ours["kinds"].set_index(slow.index.names)
    assert kinds["share"].to_dict() == pytest.approx(slow.to_dict(), rel=1e-5)
    assert kinds["even_share"].tolist() == pytest.approx([even[of, kind] for _, _, of, kind in kinds.index])
    assert set(kinds["sentences"]) == {15}, "those of one word have no pair"


def test_deciles_are_the_middles_of_the_tenths_by_weight(monkeypatch):
    """Exactly, if the sample holds all pairs; else as near to the middles as sampling allows."""
    examples, cached = corpus(60)
    pairs, *_ = loops(examples, cached)
    middles = 1 - (np.arange(10) + 0.5) / 10
    for size, spread in (2000, 0.01), (200, 0.12):
        monkeypatch.setattr("attention_atlas.atlas.sentences._SAMPLED", size)
        table, again = (attended(cached, list(examples.values()), 20, 3)["pairs"] for _ in range(2))
        pd.testing.assert_frame_equal(table, again)
        for place, rows in table.query("selection == 'deciles'").groupby(["layer", "head"]):
            weights = {pair[1:]: pair[0] for pair in pairs[place]}
            at = rows[["record", "query", "key"]].itertuples(index=False, name=None)
            np.testing.assert_allclose(rows["weight"], [weights[pair] for pair in at], rtol=1e-5)
            shares = np.searchsorted(np.sort([*weights.values()]), rows["weight"]) / len(weights)
            assert np.abs(shares - middles).max() < spread


def test_sentences_without_trees_and_single_words_are_errors():
    examples, cached = corpus(1)
    with pytest.raises(AtlasError, match="no sentence of the corpus has two words; name another corpus"):
        attended(cached, list(examples.values()), 20, 0)
    bare = Example(0, "s0", (0,), (0,), ("a",), (0,), ("a",), {})
    with pytest.raises(AtlasError, match="example s0 has no dependency tree"):
        kinds_of_pairs(bare)
