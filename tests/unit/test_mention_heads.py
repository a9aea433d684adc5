"""Head words of mentions by every rule, types of mentions, agreement, and windows of documents."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk import Tree
from sample_corpus.write import write_sample

from attention_atlas.corpora import layers, windows
from attention_atlas.corpora.conll2012 import Document, Span, conll2012_records
from attention_atlas.corpora.conllu import read_conllu
from attention_atlas.corpora.windows import document_mentions, document_windows, head_leaf, mentions_between, span_head
from attention_atlas.errors import AtlasError


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        ("(NP (NP (DT the) (NN dog)) (PP (IN of) (NP (NNP Mary))))", "dog"),
        ("(NP (NP (NNP Mary) (POS 's)) (NN dog))", "dog"),
        ("(NP (NNP Mary) (POS 's))", "Mary"),
        ("(NP (NP (NNP Joan) (NNP Bennett)) (, ,) (NP (DT a) (NN girl)))", "Bennett"),
        ("(NP (NN bread) (CC and) (NN butter))", "bread"),
        ("(NP (DT a) (NN city) (-LRB- -LRB-) (JJ dirty) (NN town) (-RRB- -RRB-))", "city"),
        ("(NP-SBJ (NN bread) (PP-LOC (IN on) (NP (NN table))))", "bread"),
        ("(S (NP (PRP he)) (VP (VBD ran)))", "ran"),
    ],
)
def test_heads_of_constituents(phrase, head):
    tree = Tree.fromstring(phrase)
    assert tree.leaves()[head_leaf(tree)] == head


def test_heads_of_spans_by_the_surface_and_by_dependencies():
    # A span that is no constituent is read as a flat phrase.
    tree = Tree.fromstring("(S (NP (DT the) (JJ big) (NN dog) (CC and) (NN cat)) (VP (VBD ran)))")
    assert [span_head(tree, *span) for span in ((0, 5), (0, 3), (4, 5))] == [2, 2, 4]
    by_surface = {"the old dog": 2, "the dog of Mary": 1, "Mary 's dog": 2, "Mary 's": 0, "up the river": 2}
    by_surface |= {"a man , tall and thin": 1, "the house where he lived": 1, "his": 0, '"': 0}
    assert {phrase: layers.surface_head(phrase.split()) for phrase in by_surface} == by_surface
    # the(2) dog(5) of(2) Mary(3) ran(0)
    assert [layers.dependency_head(*span, (2, 5, 2, 3, 0)) for span in ((0, 4), (3, 4))] == [1, 3]
    # Two words hang outside: the one with more of the span below it.
    assert layers.dependency_head(1, 5, (2, 5, 2, 3, 0)) == layers.dependency_head(2, 5, (2, 5, 5, 3, 0)) == 4


def test_types_of_mentions():
    mentions = {("his", "PRP$", False, "his"): "pronoun", ("Mary", "NNP", True, "Mary"): "proper"}
    mentions |= {("That", "DT", True, "That"): "nominal", ("She", "_", True, "She"): "pronoun"}
    mentions |= {("Mary", "_", False, "Mary"): "proper", ("Dogs", "_", True, "Dogs"): "nominal"}
    mentions |= {("King", "_", False, "a King"): "nominal", ("one", "_", False, "the one"): "nominal"}
    for (head, tag, starts, span), expected in mentions.items():
        assert layers.mention_type(head, tag, starts, span.split()) == expected


@pytest.mark.parametrize(
    ("words", "head", "tag", "entity", "expected"),
    [
        ("her", 0, "PRP", "", (layers.SINGULAR, {layers.FEMININE}, 3)),
        ("we", 0, "_", "", (layers.PLURAL, layers.ANY_GENDER, 1)),
        ("Mr. Novak", 1, "NNP", "", (layers.SINGULAR, {layers.MASCULINE}, 3)),
        ("the dogs", 1, "NNS", "", (layers.PLURAL, layers.ANY_GENDER, 3)),
        ("a widow", 1, "_", "", (layers.SINGULAR, {layers.FEMININE}, 3)),
        ("Ann and Bob", 0, "NNP", "", (layers.PLURAL, layers.ANY_GENDER, 3)),
        ("Mary Novak", 1, "NNP", "PERSON", (layers.SINGULAR, {layers.FEMININE}, 3)),
        ("Novak", 0, "NNP", "PERSON", (layers.SINGULAR, {layers.MASCULINE, layers.FEMININE}, 3)),
        # A company with a person's name; groups are it or they.
        ("Charles Schwab", 1, "NNP", "ORG", (None, {layers.NEUTER}, 3)),
        ("Georgia", 0, "NNP", "GPE", (layers.SINGULAR, {layers.NEUTER}, 3)),
        ("Ilse", 0, "NNP", "", (layers.SINGULAR, {layers.FEMININE}, 3)),
    ],
)
def test_features_of_a_mention(words, head, tag, entity, expected):
    names = layers.Names(frozenset({"uwe"}), frozenset({"ilse"}))
    assert tuple(layers.features(words.split(), head, tag, entity, names)) == expected


def test_mentions_agree_unless_a_known_feature_differs():
    unknown = layers.features(["Kim"], 0, "_")
    she, he, it, they, i = (layers.features([word], 0, "PRP") for word in ("she", "he", "it", "they", "I"))
    person, place = layers.features(["Novak"], 0, "NNP", "PERSON"), layers.features(["Georgia"], 0, "NNP", "GPE")
    assert [layers.agree(unknown, other) for other in (she, it, i)] == [True, True, False]
    assert [layers.agree(person, other) for other in (she, it, they)] == [True, False, False]
    assert [layers.agree(place, other) for other in (she, it, they)] == [False, True, False]
    assert layers.agree(layers.features(["Senate"], 0, "NNP", "ORG"), they)
    assert not layers.agree(she, he)


def test_windows():
    sentence, sizes = [0, 0, 0, 1, 1, 2, 2, 2], [1, 1, 1, 1, 1, 2, 1, 1]
    assert document_windows(sentence, sizes, 4, "first") == [(0, 4)]
    # Ends with a sentence where one ends in the second half of the window.
    assert document_windows(sentence, sizes, 4, "all") == [(0, 3), (3, 5), (5, 8)]
    assert document_windows([0] * 3, [1, 9, 1], 2, "all") == [(0, 1), (1, 2), (2, 3)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=40), st.integers(4, 12))
def test_windows_hold_every_word_once_and_fit(words, room):
    sizes = [size for size, _ in words]
    sentence = [sum(ends_sentence for _, ends_sentence in words[:k]) for k in range(len(words))]
    windows = document_windows(sentence, sizes, room, "all")
    assert [k for start, stop in windows for k in range(start, stop)] == list(range(len(words)))
    assert all(sum(sizes[start:stop]) <= room for start, stop in windows)


DOCUMENT = Document(
    "d",
    ("The", "dog", "of", "Mary", "ran", "She", "fed", "it"),
    (0, 0, 0, 0, 0, 1, 1, 1),
    ("DT", "NN", "IN", "NNP", "VBD", "PRP", "VBD", "PRP"),
    ("(S (NP (NP (DT The)(NN dog))(PP (IN of)(NP (NNP Mary))))(VP (VBD ran)))", ""),
    (Span(0, 4, "3"), Span(3, 4, "1"), Span(5, 6, "1"), Span(6, 7, "9"), Span(7, 8, "3")),
)


def test_mentions_of_a_document_and_of_its_windows():
    mentions = document_mentions(DOCUMENT, None)
    assert [m.first for m in mentions] == [True, True, False, True, False]
    assert [m.singleton for m in mentions] == [False, False, False, True, False]
    assert mentions[0].heads == {"constituents": 1, "surface": 1, "last": 3}
    assert mentions[4].heads == {"surface": 7, "last": 7}
    inside, cut = mentions_between(mentions, 3, 8)
    assert cut == 1
    assert [(m.start, m.stop, m.cluster) for m in inside] == [(0, 1, "1"), (2, 3, "1"), (3, 4, "9"), (4, 5, "3")]
    assert [m.heads["last"] for m in inside] == [0, 2, 3, 4]
    with pytest.raises(AtlasError, match="the parse of sentence 1 has 1 of 5 words"):
        document_mentions(replace(DOCUMENT, parses=("(S (NP (DT The)))", "")), None)


def test_trees_of_other_sentences_are_refused(tmp_path):
    write_sample(tmp_path, 2, 3)
    documents = list(conll2012_records(tmp_path / "coreference.conll"))
    wrong_trees = list(read_conllu(tmp_path / "sd.conllu"))[1:]
    with pytest.raises(AtlasError, match="the treebank of this corpus ends before its sentences do"):
        list(windows.trees_of_documents(iter(documents), iter(wrong_trees)))
    with pytest.raises(AtlasError, match="both must contain the same sentences in the same order"):
        document_mentions(documents[0], wrong_trees[: len(documents[0].parses)])
