"""The Stanford view of whole treebanks."""

from collections import Counter

import pytest

from attention_atlas.corpora.conllu import Tree, read_conllu, tree_fault
from attention_atlas.corpora.stanford import to_stanford
from attention_atlas.errors import AtlasError

ENGLISH = "ud_english_ewt/en_ewt-ud-dev.conllu"
SIZES = {ENGLISH: 2001, "ud_german_gsd/de_gsd-ud-dev.conllu": 799, "ud_finnish_tdt/fi_tdt-ud-dev.conllu": 1364}
TABLE1 = "prep pobj det nn nsubj amod dobj advmod aux poss auxpass ccomp mark prt".split()


@pytest.mark.parametrize("name", SIZES)
def test_every_sentence_converts_into_a_tree(mirror, name):
    seen = 0
    for tree in read_conllu(mirror / name):
        converted = to_stanford(tree)
        assert tree_fault(converted) is None
        assert (converted.words, converted.lemmas) == (tree.words, tree.lemmas)
        seen += 1
    assert seen == SIZES[name]


def test_a_treebank_of_version_1_is_refused(mirror):
    with pytest.raises(AtlasError, match="has the relation 'dobj', which version 2 of Universal Dependencies does not have"):
        list(map(to_stanford, read_conllu(mirror / "spr2_uds/en-ud-v1-dev.conllu")))


@pytest.fixture(scope="module")
def english(mirror) -> list[tuple[Tree, Tree]]:
    return [(tree, to_stanford(tree)) for tree in read_conllu(mirror / ENGLISH)]


def test_relations_of_table_1_are_there_and_few_words_are_left_over(english):
    counts = Counter(relation for _, tree in english for relation in tree.relations)
    total = sum(counts.values())
    assert {relation: counts[relation] for relation in TABLE1 if counts[relation] < 20} == {}
    assert counts["root"] == len(english)
    assert counts["dep"] / total < 0.04
    assert 0.9 < counts["pobj"] / counts["prep"] < 1.1
    assert not [relation for relation in counts if ":" in relation]


def test_function_words_carry_the_arcs_that_they_should(english):
    """Shares that hold for any annotator: what a preposition, a determiner or a clitic is called, by its Penn tag."""
    by_tag: dict[str, Counter] = {}
    for tree, converted in english:
        for tag, relation in zip(tree.xpos, converted.relations, strict=True):
            by_tag.setdefault(tag, Counter())[relation] += 1
    for tag, relations in {
        "IN": {"prep", "mark", "pcomp"},
        "DT": {"det", "nsubj", "dobj", "pobj"},
        "PRP$": {"poss"},
        "POS": {"possessive"},
        "RP": {"prt"},
        "MD": {"aux"},
        "TO": {"aux"},
        "EX": {"expl"},
    }.items():
        share = sum(by_tag[tag][relation] for relation in relations) / by_tag[tag].total()
        assert share > 0.9, (tag, by_tag[tag].most_common())


def test_prepositional_objects_hang_on_prepositions(english):
    tags = Counter(
        tree.upos[converted.heads[i] - 1]
        for tree, converted in english
        for i, relation in enumerate(converted.relations)
        if relation == "pobj"
    )
    assert (tags["ADP"] + tags["SCONJ"]) / tags.total() > 0.95
