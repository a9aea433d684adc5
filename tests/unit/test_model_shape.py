"""The shape of a model by its config.json, against what transformers knows of each architecture."""

from __future__ import annotations

import json

import pytest
from tiny_models import ARCHITECTURES, tiny
from transformers import AutoConfig

from attention_atlas.errors import AtlasError
from attention_atlas.models.card import read_shape, unused_positions


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_saved_model_has_the_shape_that_transformers_reads(tmp_path, name):
    tiny(name).save_pretrained(tmp_path)
    settings = AutoConfig.from_pretrained(tmp_path)
    positions = settings.max_position_embeddings - unused_positions(settings.model_type, settings.pad_token_id)
    assert read_shape(tmp_path) == {
        "layers": settings.num_hidden_layers,
        "heads": settings.num_attention_heads,
        "hidden_size": settings.hidden_size,
        "longest_input": positions,
    }


def test_positions_that_no_token_has_do_not_count(tmp_path):
    tiny("roberta").save_pretrained(tmp_path)
    assert read_shape(tmp_path)["longest_input"] == 38


def test_what_a_configuration_does_not_say_is_left_out(tmp_path):
    assert read_shape(tmp_path) == {}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "new", "num_hidden_layers": 2, "n_heads": "many"}))
    assert read_shape(tmp_path) == {"layers": 2}


@pytest.mark.parametrize("content", ["{", "[]", '"bert"'])
def test_a_configuration_that_is_no_json_object_is_one_sentence(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(AtlasError, match=r"the configuration cannot be read \("):
        read_shape(tmp_path)
