"""Keyphrases of SemEval-2017: every phrase found where it is, counted where it is not, examples without loss."""

import pytest
from conftest import ROOT

from attention_atlas.corpora.keyphrases import keyphrases_records, spans_of
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
