"""Repeated random pieces: the sequences, and their measures against loops over single places."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import FIRST_WORD, PAD, VOCABULARY, tiny

from attention_atlas.atlas.head_scores import (
    LONGEST,
    SHORTEST,
    ordinary_pieces,
    repeated_sequences,
    repetition_measures,
    sentence_measures,
)
from attention_atlas.attention.engine import install
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.extraction import attention_maps

PIECES = list(range(100, 200))


def sequences(count=40, before=(1,), after=(2,), max_tokens=512, seed=0):
    return repeated_sequences(PIECES, before, after, max_tokens, count, seed)


def test_a_block_of_different_pieces_comes_twice_between_special_tokens():
    lengths = set()
    for sequence in sequences():
        ids, m = sequence.example.input_ids, sequence.length
        assert (ids[0], ids[-1], len(ids)) == (1, 2, 2 * m + 2)
        assert ids[1 : 1 + m] == ids[1 + m : 1 + 2 * m]
        assert len(set(ids[1 : 1 + m])) == m
        assert set(ids[1:-1]) <= set(PIECES)
        assert [k for k, word in enumerate(sequence.example.word) if word < 0] == [0, len(ids) - 1]
        lengths.add(m)
    assert min(lengths) >= SHORTEST
    assert max(lengths) <= LONGEST
    assert len(lengths) > 10, "no fixed offset fits all of them"


def test_the_same_seed_gives_the_same_sequences_and_a_short_model_shorter_ones():
    assert sequences(seed=3) == sequences(seed=3) != sequences(seed=4)
    assert max(sequence.length for sequence in sequences(max_tokens=22)) <= 10
    with pytest.raises(AtlasError, match="does not fit twice into the model's longest input, 17 word pieces"):
        sequences(max_tokens=17)
    with pytest.raises(AtlasError, match="has 5 ordinary word pieces"):
        repeated_sequences(PIECES[:5], (), (), 512, 2, 0)


def test_special_and_unused_pieces_are_not_drawn():
    vocabulary = {"[PAD]": 0, "[unused7]": 1, "[CLS]": 2, "cat": 3, "##s": 4, "unused": 5, "<extra_id_0>": 6}
    assert ordinary_pieces(vocabulary, frozenset({0, 2})) == [3, 4, 5]


def loops(maps, sequence, causal):
    """The measures, place by place, from what the pieces are."""
    ids = sequence.example.input_ids
    places = range(sequence.start, sequence.start + 2 * sequence.length)
    names = ["previous_token", "duplicate_token", "induction", *([] if causal else ["next_token"])]
    values = {name: [] for name in names}
    for query in places:
        (occurrence,) = [place for place in places if ids[place] == ids[query] and place != query]
        targets = {"previous_token": query - 1, "next_token": query + 1}
        if not causal or occurrence < query:
            targets |= {"duplicate_token": occurrence, "induction": occurrence + 1}
        for name in names:
            if targets.get(name) in places:
                values[name].append(maps[:, :, query, targets[name]])
    return {name: np.mean(of, axis=0) for name, of in values.items()}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.booleans(), st.integers(0, 2), st.integers(0, 2))
def test_measures_are_those_of_loops(seed, causal, before, after):
    (sequence,) = sequences(1, [1] * before, [2] * after, seed=seed)
    n = len(sequence.example.input_ids)
    maps = np.random.default_rng(seed).dirichlet(np.ones(n), size=(2, 3, n))
    ours = repetition_measures(maps, sequence, causal)
    slow = loops(maps, sequence, causal)
    assert ours.keys() == slow.keys()
    for name, values in slow.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-12)


def test_a_fixed_offset_is_no_induction():
    """A head that always attends ten tokens back has induction in the sequences alone where that is the right place."""
    values = []
    for sequence in sequences(60):
        n = len(sequence.example.input_ids)
        maps = np.eye(n, k=-10)[None, None]
        values.append(repetition_measures(maps, sequence, True)["induction"].item())
        assert values[-1] == (1 if sequence.length == 11 else 0)
    assert 0 < np.mean(values) < 0.2


def test_sinks_are_the_first_token_and_special_tokens():
    maps = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 3, 6))
    example = Example(0, "s", (1,) * 6, (0,) * 6, ("a", "b", "c", "[SEP]", "d", "[SEP]"), (0, 1, 2, -1, 3, -1), ())
    slow = np.mean([maps[:, :, query, [0, 3, 5]].sum(-1) for query in (1, 2, 4)], axis=0)
    np.testing.assert_allclose(sentence_measures(maps, example, None)["sink"], slow)
    separators = np.mean([maps[:, :, query, [3, 5]].sum(-1) for query in (1, 2, 4)], axis=0)
    np.testing.assert_allclose(sentence_measures(maps, example, "[SEP]")["sep"], separators)
    alone = Example(0, "s", (1,), (0,), ("a",), (0,), ())
    assert np.isnan(sentence_measures(maps[:, :, :1, :1], alone, None)["sink"]).all()


class Decoder:
    """A tiny decoder in the form that `transformer_lens.head_detector` reads: its tokens, and the maps of its layers."""

    def __init__(self, ids, maps):
        self.ids, self.maps = ids, torch.tensor(maps)
        layers, heads = maps.shape[:2]
        self.cfg = SimpleNamespace(n_layers=layers, n_heads=heads, n_ctx=1000, device="cpu", dtype=torch.float64)

    def to_tokens(self, text):
        return torch.tensor([self.ids])

    def run_with_cache(self, tokens, remove_batch_dim):
        return None, {("pattern", layer, "attn"): of_layer for layer, of_layer in enumerate(self.maps)}


def test_measures_of_a_decoder_are_those_of_transformer_lens():
    head_detector = pytest.importorskip("transformer_lens.head_detector", reason="transformer_lens is not installed")
    model = tiny("gpt2")
    (sequence,) = repeated_sequences(range(FIRST_WORD, VOCABULARY), (), (), 24, 1, seed=5)
    install(model)
    maps = attention_maps(model, [sequence.example], PAD)[sequence.example.record].astype(np.float64)
    n, m = len(sequence.example.input_ids), sequence.length
    decoder = Decoder(sequence.example.input_ids, maps)
    scores = repetition_measures(maps, sequence, causal=True)
    # The detector divides the attention on the pattern by all attention; each token gives one unit of it.
    for measure, pairs in {"previous_token": n - 1, "duplicate_token": m, "induction": m}.items():
        detected = head_detector.detect_head(decoder, "", f"{measure}_head").numpy() * maps.sum(axis=(-2, -1))
        np.testing.assert_allclose(scores[measure] * pairs, detected, rtol=1e-5)
