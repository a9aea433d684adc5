"""Cached hidden states against the output of the model, one example at a time, and what is refused."""

import numpy as np
import pytest
import torch
from test_extract import EXAMPLES
from tiny_models import LAYERS, PAD, WIDTH, tiny

from attention_atlas.errors import AtlasError
from attention_atlas.io.shards import write_shard
from attention_atlas.models.hidden_states import HiddenStates, hidden_states

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
            slow = torch.stack(tiny(name)(**inputs, output_hidden_states=True).hidden_states)[:, 0].numpy()
        example_states = states[e.record]
        assert example_states.dtype == np.float16
        assert example_states[: LAYERS + 1].shape == (LAYERS + 1, len(e.input_ids), WIDTH)
        assert np.allclose(example_states[: LAYERS + 1], slow, atol=HALF, rtol=HALF)


def test_the_last_row_has_the_words_without_their_places():
    model = tiny("bert")
    ((_, states),) = hidden_states(model, EXAMPLES[:1], PAD)
    assert states.shape[0] == LAYERS + 2
    with torch.no_grad():
        words = model.embeddings.LayerNorm(model.embeddings.word_embeddings(torch.tensor(EXAMPLES[0].input_ids)))
    assert np.allclose(states[-1], words.numpy(), atol=HALF, rtol=HALF)
    assert not np.allclose(states[-1], states[0], atol=0.1), "layer 0 has places and segments too"
    ((_, states),) = hidden_states(tiny("gpt2"), EXAMPLES[:1], PAD)
    assert states.shape[0] == LAYERS + 1, "no embeddings like BERT's"


def test_states_that_are_not_finite_are_refused():
    model = tiny("bert")
    bias = model.encoder.layer[1].output.dense.bias.data.clone()
    try:
        model.encoder.layer[1].output.dense.bias.data[0] = float("nan")
        with pytest.raises(AtlasError, match=r"example n0 are not finite|example n\d are not finite"):
            list(hidden_states(model, EXAMPLES, PAD))
    finally:
        model.encoder.layer[1].output.dense.bias.data = bias


def cached(folder, model="m", examples=EXAMPLES, name="0"):
    states = {e.record: np.full((3, len(e.input_ids), 4), e.record, np.float16) for e in examples}
    facts = {
        "model": {"name": model},
        "layers": 2,
        "lexical": False,
        "examples": [{"record": e.record, "id": e.id, "tokens": e.tokens} for e in examples],
    }
    path = folder / f"{name}.safetensors"
    write_shard(path, path.with_suffix(".json"), states, facts)
    return path


def test_examples_are_read_at_random_and_in_time_with_their_pieces(tmp_path):
    paths = [cached(tmp_path, examples=EXAMPLES[:2]), cached(tmp_path, examples=EXAMPLES[2:], name="1")]
    cache = HiddenStates(paths)
    assert (len(cache), cache.layers, cache.lexical) == (len(EXAMPLES), 2, False)
    for e in reversed(EXAMPLES):
        assert cache[e].shape == (3, len(e.input_ids), 4)
        assert (cache[e] == e.record).all()
    retokenised = EXAMPLES[1].__class__(**{**vars(EXAMPLES[1]), "tokens": ("other",)})
    with pytest.raises(AtlasError, match="it has no hidden states"):
        cache[retokenised]
    with pytest.raises(AtlasError, match="it has no hidden states"):
        HiddenStates(paths, limit=3)[EXAMPLES[-1]]
    cache.close()


def test_damaged_and_mixed_shards_are_refused(tmp_path):
    first = cached(tmp_path)
    second = cached(tmp_path, model="other", name="1")
    with pytest.raises(AtlasError, match="of one model are required, not of 2: m, other"):
        HiddenStates([first, second])
    raw = bytearray(first.read_bytes())
    raw[-3] ^= 1
    first.write_bytes(raw)
    with pytest.raises(AtlasError, match="the checksum is wrong"):
        HiddenStates([first])
