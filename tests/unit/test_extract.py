"""Extraction: maps and hidden states of tiny models against one forward pass per example with eager attention."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_matrix import PAGE, page, text_types, tiny_model, verdicts
from tiny_models import FIRST_WORD, HEADS, LAYERS, PAD, VOCABULARY, installed, tiny

from attention_atlas.attention.batches import batch_by_length
from attention_atlas.attention.cache import read_attention, to_words
from attention_atlas.attention.engine import DECODER_SELF, ENCODER_SELF, attention_shape, install, self_attention
from attention_atlas.corpora.examples import Corpus, Example, write_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard, write_card
from attention_atlas.models.extraction import HiddenStates, attention_maps, each_example, extract_shard, hidden_states
from attention_atlas.models.loading import text_part

FLOAT16 = 2e-3


def example(record: int, length: int) -> Example:
    """Random pieces between two special tokens, every second word of two pieces, the second half of segment 1."""
    chance = np.random.default_rng(record)
    ids = (2, *chance.integers(FIRST_WORD, VOCABULARY, length - 2).tolist(), 3)
    word, number = [-1], 0
    while len(word) < length - 1:
        word += [number] * (1 + number % 2)
        number += 1
    word = (*word[: length - 1], -1)
    words = tuple(f"w{i}" for i in range(max(word) + 1))
    segments = tuple(int(place >= length // 2) for place in range(length))
    return Example(record, f"n{record}", ids, segments, tuple(f"t{i}" for i in ids), word, words)


EXAMPLES = [example(record, length) for record, length in ((0, 9), (2, 4), (3, 12), (7, 9), (8, 3))]


def one_by_one(name: str, of: Example, model=None) -> np.ndarray:
    """[layer, head, n, n] of a single example without padding, by the output of the model."""
    inputs = {"input_ids": torch.tensor([of.input_ids])}
    if name == "bert":
        inputs["token_type_ids"] = torch.tensor([of.segment_ids])
    with torch.no_grad():
        attentions = (model or tiny(name))(**inputs, output_attentions=True).attentions
    return torch.stack(attentions)[:, 0].float().numpy()


@pytest.mark.parametrize(
    ("name", "pad", "room"), [("bert", PAD, 10_000), ("bert", 30, 20), ("distilbert", 30, 20), ("gpt2", PAD, 20)]
)
def test_maps_equal_eager_attention_one_example_at_a_time(name, pad, room):
    maps = attention_maps(installed(name), EXAMPLES, pad, batch_tokens=room)
    assert list(maps) == [e.record for e in EXAMPLES]
    for e in EXAMPLES:
        np.testing.assert_allclose(maps[e.record], one_by_one(name, e), rtol=0, atol=FLOAT16)
    assert np.abs(maps[0][0].astype(np.float32) - maps[0][1]).max() > 0.05


def test_at_level_words_maps_are_reduced_before_they_are_rounded():
    # Alone in its batch an example has eager attention bit for bit, so one rounding gives these very numbers.
    maps = attention_maps(installed("bert"), EXAMPLES, PAD, "words", batch_tokens=1)
    for e in EXAMPLES:
        assert maps[e.record].shape == (LAYERS, HEADS, len(e.words) + 2, len(e.words) + 2)
        assert np.array_equal(maps[e.record], to_words(one_by_one("bert", e), e.word).astype(np.float16))


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(3, 30), max_size=20), room=st.integers(1, 100))
def test_batches_have_every_example_once_longest_first_within_their_bound(lengths, room):
    batches = list(batch_by_length([example(record, length) for record, length in enumerate(lengths)], room))
    in_order = [(-len(e.input_ids), e.record) for batch in batches for e in batch]
    assert in_order == sorted((-n, r) for r, n in enumerate(lengths))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * len(batch[0].input_ids) <= room
    for batch in batches[:-1]:
        assert (len(batch) + 1) * len(batch[0].input_ids) > room, "the next example would not have fitted"


def test_maps_of_a_batch_are_in_memory_that_the_next_one_uses_again():
    model, maps, memory = installed("bert"), {}, []
    for e, example_maps in each_example(model, EXAMPLES, PAD, "tokens", batch_tokens=20, reuse_memory=True):
        maps[e.record] = example_maps.copy()
        memory.append(example_maps)
    assert list(maps) == [3, 0, 7, 2, 8], "longest first"
    expected = attention_maps(model, EXAMPLES, PAD, batch_tokens=20)
    assert all(np.array_equal(maps[record], array) for record, array in expected.items())
    assert all(np.shares_memory(memory[0], later) for later in memory[1:])


def shard(folder, model, examples: list[Example], level: str = "tokens"):
    model.save_pretrained(folder / "model")
    facts = ("tiny", "folder", "bert", LAYERS, HEADS, 40, "[CLS]", "[SEP]", PAD, "ab" * 32, "pretrained", 0, "float32")
    write_card(ModelCard(*facts), folder / "card.json")
    write_examples(folder / "examples.parquet", examples)
    entry = {"source": {"path": str(folder / "model")}, "init": "pretrained", "seed": 0, "dtype": "float32"}
    out = folder / "maps" / "0.safetensors"
    extract_shard(entry, folder / "card.json", folder / "examples.parquet", "trees", level, out, out.with_suffix(".json"))
    return out


def test_a_shard_from_files_to_files(tmp_path):
    out = shard(tmp_path, tiny("bert"), EXAMPLES)
    cached_examples = list(read_attention(out.parent))
    assert [e.record for e in cached_examples] == [0, 2, 3, 7, 8]
    for cached, e in zip(cached_examples, EXAMPLES, strict=True):
        assert (cached.id, cached.tokens, cached.word, cached.gold_words) == (e.id, e.tokens, e.word, e.words)
        np.testing.assert_allclose(cached.word_maps(), to_words(one_by_one("bert", e), e.word), rtol=0, atol=FLOAT16)
    facts = json.loads(out.with_suffix(".json").read_text())
    assert facts["model"] == {"name": "tiny", "origin": "folder", "weights_sha256": "ab" * 32, "init": "pretrained"}
    assert list(read_attention([shard(tmp_path / "empty", tiny("bert"), [])])) == []


def test_a_shard_with_values_that_are_not_finite_is_refused_and_leaves_nothing(tmp_path):
    model = tiny("bert")
    with torch.no_grad():
        # Finite, as loading asks for; what it is multiplied with overflows.
        model.encoder.layer[1].output.dense.weight[0] = 3e38
    with pytest.raises(AtlasError, match="not finite for a batch with example n3"):
        shard(tmp_path, model, EXAMPLES)
    assert list((tmp_path / "maps").iterdir()) == []


TYPES = {name: (configuration, model) for name, configuration, model in text_types()}
PLAIN = [Example(n, str(n), (*range(5, 5 + n),), (0,) * n, ("",) * n, (*range(n),), ("",) * n) for n in (9, 5)]


def unusual(name: str):
    """A model that is not like BERT."""
    model = tiny_model(name, *TYPES[name])
    install(model)
    return model


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lfm2_moe", r"Lfm2MoeModel: 2 of 4 layers \(1, 3\) have no attention"),
        ("gpt_oss", "learnt sinks"),
        ("diffllama", r"one pass computed the attention of layers \[1, 1, 2, 2, 3, 3, 4, 4\]"),
    ],
)
def test_models_whose_maps_are_not_complete_are_refused(name, message):
    with pytest.raises(AtlasError, match=message):
        attention_maps(unusual(name), PLAIN, pad=1)


def test_a_decoders_attention_is_never_that_of_the_encoder():
    model = unusual("longt5")
    assert next(iter(attention_shape(model))) == DECODER_SELF
    with pytest.raises(AtlasError, match="encoder is computed outside the attention interface"):
        self_attention(model)
    with pytest.raises(AtlasError, match="without the attention interface"):
        self_attention(text_part(model))
    assert next(iter(attention_shape(unusual("clip_text_model")))) == DECODER_SELF, "causal, whatever its class says"


@pytest.mark.parametrize(("name", "layers"), [("bart", 2), ("dpr", 4)])
def test_the_part_that_reads_text_has_the_encoders_maps(name, layers):
    part = text_part(unusual(name))
    assert self_attention(part) == (ENCODER_SELF, layers, 4)
    assert attention_maps(part, PLAIN, pad=1)[9].shape == (layers, 4, 9, 9)


def test_texts_that_read_their_padding_do_not_share_a_batch():
    model = unusual("mobilebert")
    together = attention_maps(model, PLAIN, pad=1)
    for one in PLAIN:
        np.testing.assert_array_equal(together[one.record], attention_maps(model, [one], pad=1)[one.record])


@pytest.mark.long
def test_no_model_type_is_wrong_and_the_page_says_what_was_seen():
    seen = verdicts()
    assert {name: verdict.faults for name, verdict in seen.items() if verdict.faults} == {}
    assert page(seen) == PAGE.read_text(encoding="utf-8")


# --- hidden states ----------------------------------------------------------------------------------------------------


HALF = 4e-3


@pytest.mark.parametrize("name", ["bert", "distilbert", "gpt2"])
def test_states_are_those_of_one_example_at_a_time(name):
    states = {e.record: example_states for e, example_states in hidden_states(tiny(name), EXAMPLES, PAD, batch_tokens=30)}
    assert list(states) == [3, 0, 7, 2, 8]
    for e in EXAMPLES:
        inputs = {"input_ids": torch.tensor([e.input_ids])}
        if name == "bert":
            inputs["token_type_ids"] = torch.tensor([e.segment_ids])
        with torch.no_grad():
            slow = torch.cat(tiny(name)(**inputs, output_hidden_states=True).hidden_states).numpy()
        assert states[e.record].dtype == np.float16
        assert states[e.record][: LAYERS + 1] == pytest.approx(slow, abs=HALF, rel=HALF)


def test_the_last_row_has_the_words_without_their_places():
    model = tiny("bert")
    ((_, states),) = hidden_states(model, EXAMPLES[:1], PAD)
    assert states.shape[0] == LAYERS + 2
    with torch.no_grad():
        words = model.embeddings.LayerNorm(model.embeddings.word_embeddings(torch.tensor(EXAMPLES[0].input_ids)))
    assert np.allclose(states[-1], words.numpy(), atol=HALF, rtol=HALF)
    assert not np.allclose(states[-1], states[0], atol=0.1), "layer 0 has places and segments too"


def test_states_that_are_not_finite_are_refused(monkeypatch):
    model = tiny("bert")
    bias = model.encoder.layer[1].output.dense.bias
    monkeypatch.setattr(bias, "data", torch.full_like(bias, torch.nan))
    with pytest.raises(AtlasError, match=r"example n\d are not finite"):
        list(hidden_states(model, EXAMPLES, PAD))


def test_stored_states_are_those_of_the_examples_with_their_pieces(tmp_path):
    model, corpus = tiny("bert"), Corpus([EXAMPLES[:2], EXAMPLES[2:]], 8)
    stored = HiddenStates(model, corpus, lambda e: range(1, len(e.tokens), 2), PAD, tmp_path / "states")
    assert (len(stored), stored.layers, stored.lexical) == (len(corpus.examples), LAYERS, True)
    of_shards = {e.record: states for shard in corpus.shards for e, states in hidden_states(model, shard, PAD)}
    for e in reversed(corpus.examples):
        assert np.array_equal(stored[e][:, 1::2], of_shards[e.record][:, 1::2])
        assert not stored[e][:, ::2].any()
    with pytest.raises(AtlasError, match="it has no hidden states"):
        stored[replace(EXAMPLES[1], tokens=("other",))]
