"""The same measures of several models: against the tables of the studies, numpy and loops."""

import pandas as pd
import pytest
from small_treebank import write_treebank

from attention_atlas.atlas.measures import read_measures
from attention_atlas.atlas.sentences import of_model
from attention_atlas.attention.cache import StoredAttention, read_attention
from attention_atlas.corpora.examples import all_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import read_card
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.surface import surface
from attention_atlas.studies.clark2019.syntax import dependencies

RESAMPLING = Resampling(folds=5, resamples=200, seed=3)
NAMES = {
    "clark2019/surface": "surface",
    "clark2019/dependency_head_relations": "head_relations",
    "guan2020/head_types": "types",
}


def measured(folder):
    """Tables of a model on a small treebank, by name."""
    attention, examples = StoredAttention([folder / "0.safetensors"]), all_examples([folder / "0.parquet"])
    tables = of_model(attention, examples, read_card(folder / "card.json"), 200, 3, strongest_pairs=20)
    return {table: tables[name] for table, name in NAMES.items()}


def test_measures_of_a_model_are_those_of_the_studies(tmp_path):
    write_treebank(tmp_path)
    tables = measured(tmp_path)
    shards, card = [tmp_path / "0.safetensors"], read_card(tmp_path / "card.json")
    published = {"preset": "as_published"}
    segments = surface(read_attention(shards, 12), card, published, "auto", RESAMPLING.resamples, RESAMPLING.seed)["surface"]
    examples = all_examples([tmp_path / "0.parquet"], 12)
    of_clark = dependencies(StoredAttention(shards, 12), examples, card, published, "auto", 1, **vars(RESAMPLING))
    expected = segments.replace({"unit": {"segments": "sentences"}})
    pd.testing.assert_frame_equal(tables["clark2019/surface"], expected)
    pd.testing.assert_frame_equal(tables["clark2019/dependency_head_relations"], of_clark["head_relations"])
    measured_heads = read_measures(tables, 2, 2)
    assert {"entropy", "to_sep", "best_relation", "relation_margin"} <= set(measured_heads.heads)
    (tmp_path / "words").mkdir()
    write_treebank(tmp_path / "words", level="words")
    with pytest.raises(AtlasError, match="level: tokens"):
        measured(tmp_path / "words")
