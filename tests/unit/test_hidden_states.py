"""Hidden states against the output of the model, one example at a time, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_extract import EXAMPLES
from tiny_models import LAYERS, PAD, tiny

from attention_atlas.corpora.examples import Corpus
from attention_atlas.errors import AtlasError
from attention_atlas.models.extraction import HiddenStates, hidden_states

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
