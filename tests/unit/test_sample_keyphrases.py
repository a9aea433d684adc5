"""Keyphrases of the sample corpus: from all mentions of a document, neither trivial nor noise."""

import json
from collections import Counter, defaultdict

import pytest
from sample_corpus.generate import generate_documents
from sample_corpus.keyphrases import SENTENCES, keyphrase_lines, keyphrases_of

from attention_atlas.corpora.keyphrases import OUTSIDE, keyphrases_records

DOCUMENTS = list(generate_documents(120, 2019))


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    path = tmp_path_factory.mktemp("keyphrases") / "keyphrases.jsonl"
    path.write_text("".join(keyphrase_lines(DOCUMENTS)), encoding="utf-8")
    return list(keyphrases_records(path))


def test_a_line_is_the_beginning_of_its_document():
    for document, line in zip(DOCUMENTS, keyphrase_lines(DOCUMENTS), strict=True):
        row = json.loads(line)
        assert row["id"] == document.id
        assert document.text.replace("\n", " ").startswith(row["text"])
        assert row["text"].endswith(document.sentences[min(SENTENCES, len(document.sentences)) - 1].text)


def test_phrases_are_mentioned_often_and_persons_are_none():
    for document in DOCUMENTS:
        phrases = keyphrases_of(document)
        assert len(phrases) >= 2
        assert len(set(phrases)) == len(phrases)
        words = Counter(token.form.lower() for sentence in document.sentences for token in sentence.tokens)
        for phrase in phrases:
            assert all(words[word.lower()] for word in phrase.split()), "a phrase comes from the document"
        persons = {m.entity for m in document.mentions if document.gender.get(m.entity) in ("he", "she")}
        named = {
            " ".join(token.form for token in document.sentences[m.sentence].tokens[m.start : m.stop])
            for m in document.mentions
            if m.entity in persons and m.type == "proper"
        }
        assert not named & set(phrases)


def f1(pairs):
    right = sum(predicted and gold for predicted, gold in pairs)
    return 2 * right / (sum(predicted for predicted, _ in pairs) + sum(gold for _, gold in pairs))


def test_no_single_word_and_no_count_gives_the_phrases_away(read):
    known = defaultdict(Counter)
    half = len(read) // 2
    for document in read[:half]:
        for word, tag in zip(document.words, document.tags, strict=True):
            known[word.lower()][tag != OUTSIDE] += 1
    by_word, by_count = [], []
    for document in read[half:]:
        counts = Counter(word.lower() for word in document.words)
        for word, tag in zip(document.words, document.tags, strict=True):
            seen = known[word.lower()]
            by_word.append((seen[True] > seen[False], tag != OUTSIDE))
            by_count.append((counts[word.lower()] > 1 and len(word) > 3, tag != OUTSIDE))
    assert f1(by_word) < 0.75
    assert f1(by_count) < 0.75
    assert f1(by_word) > 0.2, "nor is it noise"
