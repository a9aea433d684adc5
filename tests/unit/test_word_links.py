"""Words by gold layers and by spaCy on running text, links between them, and their weights against loops."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from attention_atlas.corpora.examples import Example
from attention_atlas.studies.kovaleva2019.words import (
    aligned,
    analyses_of,
    feature_masks,
    gold_analysis,
    piece_pairs,
    word_spans,
)

WORDS = "the cats see the boy who sees cats it fled".split()
PIECES = ["the", "cat ##s", "see", "the", "boy", "who", "see ##s", "cat ##s", "it", "fled"]
TAGS = "DT NNS VBP DT NN WP VBZ NNS PRP VBD".split()
RELATIONS = "det nsubj root det dobj nsubj rcmod dobj nsubj root".split()
HEADS = (2, 3, 0, 5, 3, 7, 5, 7, 10, 0)


def pair(record=0, heads=HEADS, texts=("the cats see the boy who sees cats", "it fled"), words=WORDS, pieces=PIECES, first=8):
    """Two texts, the first of `first` words."""
    word, tokens = [-1], ["[CLS]"]
    for place, spelled in enumerate(pieces):
        word += [place] * len(spelled.split())
        tokens += spelled.split()
        if place + 1 in (first, len(pieces)):
            word.append(-1)
            tokens.append("[SEP]")
    n = len(word)
    tags = dict(zip(("xpos", "relations"), (TAGS, RELATIONS), strict=True)) | ({"heads": heads} if heads else {})
    layers = {name: tuple(values) for name, values in tags.items()} if words is WORDS else {}
    return Example(record, "e", (0,) * n, (0,) * n, tuple(tokens), tuple(word), tuple(words), layers, texts=texts)


EXAMPLE = pair()


def pieces_of(word):
    return [place for place, number in enumerate(EXAMPLE.word) if number == word]


def test_links_by_words():
    analysis = gold_analysis(EXAMPLE)
    expected = {(a, b) for subject, verb in ((1, 2), (5, 6), (8, 9)) for a, b in product(pieces_of(subject), pieces_of(verb))}
    assert set(piece_pairs(EXAMPLE, analysis, "subj_verb", "corrected")) == expected
    assert set(piece_pairs(EXAMPLE, analysis, "verb_subj", "corrected")) == {(b, a) for a, b in expected}
    # The pronoun is in the other text than the nouns; "who" is no personal pronoun.
    assert piece_pairs(EXAMPLE, analysis, "noun_pron", "corrected") == []
    one_text = pair(first=len(WORDS), texts=(" ".join(WORDS),))
    nouns = {(a, b) for noun in (1, 4, 7) for a, b in product(pieces_of(noun), [pieces_of(8)[0] - 1])}
    assert set(piece_pairs(one_text, analysis, "pron_noun", "corrected")) == {(b, a - (a > 12)) for a, b in nouns}


def test_links_as_published_pair_lists_of_first_spellings_one_by_one():
    analysis = gold_analysis(EXAMPLE)
    # cat ##s, who, it with see, see ##s, fled: "see" and "##s" are found at their first places.
    subjects = [2, 3, EXAMPLE.tokens.index("who"), EXAMPLE.tokens.index("it")]
    verbs = [4, 4, 3, EXAMPLE.tokens.index("fled")]
    assert piece_pairs(EXAMPLE, analysis, "subj_verb", "as_published") == list(zip(subjects, verbs, strict=True))
    one_text = pair(first=len(WORDS), texts=(" ".join(WORDS),))
    assert piece_pairs(one_text, analysis, "noun_pron", "as_published") == []


def test_heads_that_are_not_annotated_link_nothing():
    analysis = gold_analysis(pair(heads=(2, -1, 0, 5, 3, 7, 5, 7, -1, 0)))
    assert piece_pairs(EXAMPLE, analysis, "subj_verb", "corrected") == [(a, b) for a, b in product(pieces_of(5), pieces_of(6))]
    assert {token.head for token in gold_analysis(pair(heads=None))} == {None}


def fake_document(*tokens):
    """Tokens (text, character, tag, relation, head) as spaCy gives them."""
    made = [SimpleNamespace(i=k, text=t, idx=at, tag_=tag, dep_=rel) for k, (t, at, tag, rel, _) in enumerate(tokens)]
    for token, (*_, head) in zip(made, tokens, strict=True):
        token.head = made[head]
    return made


RAW = "We don't owe 1,250.50 dollars."
CUT = ["We", "don", "'", "t", "owe", "1", ",", "250", ".", "50", "dollars", "."]


def raw_example(texts=(RAW, "It rains.")):
    words = [*CUT, "It", "rains", "."]
    return pair(texts=texts, words=words, pieces=words, first=len(CUT))


def test_tokens_of_running_text_are_aligned_by_characters():
    example = raw_example()
    assert [RAW[a:b] for text, a, b in word_spans(example) if text == 0] == CUT
    first = fake_document(
        ("We", 0, "PRP", "nsubj", 3),
        ("do", 3, "VBP", "aux", 3),
        ("n't", 5, "RB", "neg", 3),
        ("owe", 9, "VB", "ROOT", 3),
        ("1,250.50", 13, "CD", "nummod", 5),
        ("dollars", 22, "NNS", "dobj", 3),
        (".", 29, ".", "punct", 3),
    )
    second = fake_document(("It", 0, "PRP", "nsubj", 1), ("rains", 3, "VBZ", "ROOT", 1), (".", 8, ".", "punct", 1))
    analysis = aligned(example, [first, second])
    assert [token.words for token in analysis] == [(0,), (1,), (2, 3), (4,), (5, 6, 7, 8, 9), (10,), (11,), (12,), (13,), (14,)]
    assert [token.head for token in analysis] == [3, 3, 3, None, 5, 3, 3, 8, None, 8]
    masks = feature_masks(example, "[CLS]", "[SEP]", analysis, "corrected")
    assert [example.tokens[k] for k in np.flatnonzero(masks["verb"])] == ["don", "owe", "rains"]
    assert [example.tokens[k] for k in np.flatnonzero(masks["subj"])] == ["We", "It"]
    links = piece_pairs(example, analysis, "subj_verb", "corrected")
    assert [(example.tokens[a], example.tokens[b]) for a, b in links] == [("We", "owe"), ("It", "rains")]


def test_without_gold_tags_and_a_tagger_there_is_no_analysis(caplog):
    assert analyses_of([pair()], "no_such_model") == {0: gold_analysis(pair())}
    assert analyses_of([raw_example()], "no_such_model") == {}
    assert "python -m spacy download no_such_model" in caplog.text


def test_spacy_gets_the_running_text(tmp_path):
    """A small pipeline made here: spaCy's rules of English tokens, and tags and heads by word."""
    spacy = pytest.importorskip("spacy")
    tags = {"we": ("PRP", "nsubj", 3), "it": ("PRP", "nsubj", 1), "n't": ("RB", "neg", 3), "1,250.50": ("CD", "nummod", 5)}

    @spacy.Language.component("tags_by_word")
    def tag(document):
        for token in document:
            token.tag_, token.dep_, head = tags.get(token.text.lower(), ("VB", "ROOT", token.i))
            token.head = document[head]
        return document

    pipeline = spacy.blank("en")
    pipeline.add_pipe("tags_by_word")
    pipeline.to_disk(tmp_path / "model")
    example = raw_example()
    tokens = analyses_of([example], str(tmp_path / "model"))[example.record]
    assert [token.words for token in tokens if token.tag == "CD"] == [(5, 6, 7, 8, 9)]
    assert [token.words for token in tokens if token.relation == "neg"] == [(2, 3)]
    links = piece_pairs(example, tokens, "subj_verb", "corrected")
    assert [(example.tokens[a], example.tokens[b]) for a, b in links] == [("We", "owe"), ("It", "rains")]
