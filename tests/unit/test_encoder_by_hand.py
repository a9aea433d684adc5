"""Scores of an encoder whose heads have their property by construction: what encoders have beyond decoders."""

import numpy as np
import pytest
import torch
from decoder_by_hand import BEFORE, PIECE, PLACE, POSITIONS, SIZE, VOCABULARY, WIDTH, into
from tiny_models import saved_model
from torch import nn
from transformers import BertConfig, BertModel

from attention_atlas.atlas.head_scores import Inputs, repeated_sequences, scores_of

CLS, SEP = 1, 2
AFTER = BEFORE
"""The third part of the residual stream, here for the piece after."""
SHARP = 10.0
NEXT_TOKEN, FIRST_TOKEN, PIECE_BEFORE, LAST_TOKEN = (0, 0), (0, 1), (1, 0), (1, 1)
"""Layer and head, from 0, of the heads by what they attend to."""


def set_query_key(layer, head, query, key):
    """Weights of a head of BERT from the residual stream [width, size]; a query of shape [size] is the same for all tokens."""
    places = slice(head * SIZE, (head + 1) * SIZE)
    if query.ndim == 1:
        layer.attention.self.query.bias[places] = query
    else:
        layer.attention.self.query.weight[places] = query.T
    layer.attention.self.key.weight[places] = key.T


def one_hot(place):
    return SHARP * torch.eye(SIZE)[place]


def empty_encoder():
    """BERT with two layers of two heads that attend to all tokens alike; the residual stream holds the piece and its place."""
    settings = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=4,
        max_position_embeddings=POSITIONS,
    )
    model = BertModel(settings, add_pooling_layer=False)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.fill_(1)
        model.embeddings.word_embeddings.weight[:, PIECE] = torch.eye(VOCABULARY)
        model.embeddings.position_embeddings.weight[:, PLACE] = torch.eye(POSITIONS)
    return model


def mean_scores(entry):
    sequences = repeated_sequences(range(3, VOCABULARY), (CLS,), (SEP,), POSITIONS, 8, 0)
    inputs = Inputs([sequence.example for sequence in sequences], sequences, 0, str(SEP))
    return inputs, {name: values.mean(axis=0) for name, values in scores_of(entry, inputs).items()}


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    """Layer 1: head 1 next token (whose piece it writes), head 2 first token. Layer 2: head 1 the tokens whose next piece is
    that of the query token, head 2 [SEP]."""
    model = empty_encoder()
    with torch.no_grad():
        first, second = model.encoder.layer
        set_query_key(first, 0, into(PLACE, 1, SHARP), into(PLACE))
        first.attention.self.value.weight[:SIZE] = into(PIECE).T
        first.attention.output.dense.weight[AFTER, :VOCABULARY] = torch.eye(VOCABULARY)
        set_query_key(first, 1, one_hot(0), into(PLACE))
        set_query_key(second, 0, into(PIECE, 0, SHARP), into(AFTER))
        set_query_key(second, 1, one_hot(SEP), into(PIECE))
    return saved_model(model, tmp_path_factory.mktemp("encoder_by_hand"))


@pytest.fixture(scope="module")
def with_induction(tmp_path_factory):
    """Layer 1: head 1 previous token (whose piece it writes), head 2 tokens of the same piece. Layer 2: head 1 the tokens whose
    previous piece is that of the query token; head 2 attends to all tokens alike, and only [SEP] has a value."""
    model = empty_encoder()
    with torch.no_grad():
        first, second = model.encoder.layer
        set_query_key(first, 0, into(PLACE, -1, SHARP), into(PLACE))
        first.attention.self.value.weight[:SIZE] = into(PIECE).T
        first.attention.output.dense.weight[BEFORE, :VOCABULARY] = torch.eye(VOCABULARY)
        set_query_key(first, 1, into(PIECE, 0, SHARP), into(PIECE))
        set_query_key(second, 0, into(PIECE, 0, SHARP), into(BEFORE))
        # Less the coordinate of a piece that no text has, since layer norm moves all coordinates.
        second.attention.self.value.weight[SIZE, [SEP, 0]] = torch.tensor([1.0, -1.0])
        second.attention.output.dense.weight[0, SIZE] = 1.0
    return saved_model(model, tmp_path_factory.mktemp("with_induction"))


def test_an_encoder_has_induction_duplicate_tokens_and_norms_by_construction(with_induction):
    inputs, scores = mean_scores(with_induction)
    # A token sees its own next one, too: the other occurrence gets half.
    expected = {"previous_token": (0, 0), "duplicate_token": (0, 1), "induction": (1, 0), "norm_sep": (1, 1)}
    values = {name: scores[name][place] for name, place in expected.items()}
    assert values == pytest.approx({"previous_token": 1, "duplicate_token": 0.5, "induction": 0.5, "norm_sep": 1}, abs=0.05)
    assert scores["next_token"][1, 0] == pytest.approx(0.5, abs=0.05)
    for name in ("previous_token", "duplicate_token", "induction"):
        others = np.delete(scores[name].ravel(), np.ravel_multi_index(expected[name], (2, 2)))
        assert others.max() < 0.2, name
    # By weights the first token and [SEP] get no more of that head than any other token.
    even = np.mean([2 / len(example.tokens) for example in inputs.sentences])
    assert scores["sink"][1, 1] == pytest.approx(even, rel=0.01)
    assert scores["norm_sink"][1, 1] == pytest.approx(1, abs=0.05)
    assert scores["norm_sep"][0, 0] < 0.1


def test_heads_of_an_encoder_have_what_they_were_made_for(by_hand):
    _, scores = mean_scores(by_hand)
    assert scores["next_token"][NEXT_TOKEN] > 0.95
    # The other half goes to the token before the other occurrence.
    assert scores["previous_token"][PIECE_BEFORE] == pytest.approx(0.5, abs=0.05)
    assert (scores["sink"][FIRST_TOKEN], scores["sink"][LAST_TOKEN]) == (pytest.approx(1, abs=0.05),) * 2
    assert np.delete(scores["next_token"].ravel(), np.ravel_multi_index(NEXT_TOKEN, (2, 2))).max() < 0.2
