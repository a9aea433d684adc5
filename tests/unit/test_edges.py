"""Edge-probing records: reading and writing, and converters from annotated corpora against hand-made cases."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_atlas.corpora.conll2012 import read_conll2012
from attention_atlas.corpora.conllu import read_conllu
from attention_atlas.corpora.edge_converters import (
    coin_flips,
    constituent_edges,
    coreference_edges,
    dependency_edges,
    relation_edges,
    role_edges,
    tag_edges,
)
from attention_atlas.corpora.edges import EdgeRecord, EdgeTarget, edge_line, read_edges
from attention_atlas.corpora.propositions import read_propositions
from attention_atlas.errors import AtlasError

TREE = """\
# sent_id = s1
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsleeps\tsleep\tVERB\tVBZ\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""
PROPOSITIONS = """\
# sent_id = p1
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\t_\t_\t_
2\tman\tman\tNOUN\tNN\t_\t6\tnsubj\t_\t_\t_\tARG0\tARG0
3\twho\twho\tPRON\tWP\t_\t4\tnsubj\t_\t_\t_\tR-ARG0\t_
4\tslept\tsleep\tVERB\tVBD\t_\t2\tacl:relcl\t_\t_\tsleep.01\tV\t_
5\twell\twell\tADV\tRB\t_\t4\tadvmod\t_\t_\t_\tARGM-MNR\t_
6\tleft\tleave\tVERB\tVBD\t_\t0\troot\t_\t_\tleave.01\t_\tV
7\tthe\tthe\tDET\tDT\t_\t8\tdet\t_\t_\t_\t_\t_
8\troom\troom\tNOUN\tNN\t_\t6\tobj\t_\t_\t_\t_\tARG1

"""
DOCUMENT = """\
#begin document (d); part 000
d\t0\t0\tJoan\tNNP\t(S(NP*)\t-\t-\t-\t-\t-\t(0)
d\t0\t1\tfed\tVBD\t(VP*\t-\t-\t-\t-\t-\t-
d\t0\t2\ther\tPRP$\t(NP-OBJ*\t-\t-\t-\t-\t-\t(1|(0)
d\t0\t3\tcat\tNN\t*)))\t-\t-\t-\t-\t-\t1)

d\t0\t0\tIt\tPRP\t(S(NP*)\t-\t-\t-\t-\t-\t(1)
d\t0\t1\tslept\tVBD\t(VP*))\t-\t-\t-\t-\t-\t-

#end document
"""


def written(tmp_path, text, name="file.txt"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def spans(record):
    return [(target.span1, target.span2, *target.labels) for target in record.targets]


def test_tags_are_words_and_dependencies_pairs_with_the_root_paired_with_itself(tmp_path):
    (tree,) = read_conllu(written(tmp_path, TREE))
    (tags,) = tag_edges([tree])
    assert (tags.id, tags.words) == ("s1", ("The", "cat", "sleeps", "."))
    assert spans(tags) == [((k, k + 1), None, tag) for k, tag in enumerate(("DT", "NN", "VBZ", "."))]
    (dependencies,) = dependency_edges([tree])
    assert spans(dependencies) == [
        ((0, 1), (1, 2), "det"),
        ((1, 2), (2, 3), "nsubj"),
        ((2, 3), (2, 3), "root"),
        ((3, 4), (2, 3), "punct"),
    ]


def test_arguments_are_subtrees_but_not_across_their_predicate(tmp_path):
    sentences = list(read_propositions(written(tmp_path, PROPOSITIONS)))
    slept, left = role_edges(sentences)
    assert (slept.id, left.id) == ("p1#4", "p1#6")
    # All words below "man" hold the predicate "slept" itself.
    assert spans(slept) == [((3, 4), (1, 2), "ARG0"), ((3, 4), (2, 3), "R-ARG0"), ((3, 4), (4, 5), "ARGM-MNR")]
    assert spans(left) == [((5, 6), (0, 5), "ARG0"), ((5, 6), (6, 8), "ARG1")]
    heads = list(role_edges(sentences, whole=False))
    assert spans(heads[1]) == [((5, 6), (1, 2), "ARG0"), ((5, 6), (7, 8), "ARG1")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\tsleep.01\tV\t_\n", "\tsleep.01\tV\n", "columns of roles; there must be one for each predicate"),
        ("\tsleep.01\tV\t_\n", "\t_\tV\t_\n", "has 1 predicates but 2 columns"),
        (
            "2\tman\tman\tNOUN\tNN\t_\t6\tnsubj\t_\t_\t_\tARG0\tARG0\n",
            "2\tman\tman\tNOUN\tNN\t_\t6\tnsubj\t_\t_\n",
            ":3: 10 columns",
        ),
        ("4\tslept\tsleep\tVERB\tVBD\t_\t2", "4\tslept\tsleep\tVERB\tVBD\t_\t99", "file.txt:5"),
        (PROPOSITIONS, "\n", "there is no sentence"),
    ],
)
def test_malformed_propositions_are_named(tmp_path, old, new, message):
    assert old in PROPOSITIONS
    with pytest.raises(AtlasError) as error:
        list(read_propositions(written(tmp_path, PROPOSITIONS.replace(old, new))))
    assert message in str(error.value)


def test_constituents_are_brackets_above_words_without_functions(tmp_path):
    documents = list(read_conll2012(written(tmp_path, DOCUMENT, "d.conll")))
    first, second = constituent_edges(documents)
    assert first.words == ("Joan", "fed", "her", "cat")
    assert spans(first) == [((0, 4), None, "S"), ((0, 1), None, "NP"), ((1, 4), None, "VP"), ((2, 4), None, "NP")]
    assert (second.id, len(second.targets)) == ("d-2", 3)


def test_all_pairs_of_mentions_of_a_sentence_are_same_or_other(tmp_path):
    documents = list(read_conll2012(written(tmp_path, DOCUMENT, "d.conll")))
    first, second = coreference_edges(documents)
    assert sorted(spans(first)) == [((0, 1), (2, 3), "1"), ((0, 1), (2, 4), "0"), ((2, 4), (2, 3), "0")]
    assert second.targets == (), "one mention makes no pair, and chains do not cross sentences"


def test_relations_are_read_in_the_form_of_semeval(tmp_path):
    text = '1\t"The <e1>big child</e1> slept in the <e2>cradle</e2>."\nEntity-Destination(e1,e2)\nComment: none\n\n'
    text += '2\t"A <e2>b</e2> of <e1>c</e1>"\nOther\n'
    first, second = relation_edges(written(tmp_path, text))
    assert first.words == ("The", "big", "child", "slept", "in", "the", "cradle", ".")
    assert spans(first) == [((1, 3), (6, 7), "Entity-Destination(e1,e2)")]
    assert spans(second) == [((3, 4), (1, 2), "Other")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('1\t"A <e1>b</e1> c."\nOther\n', "file.txt:1: the sentence has no <e2>"),
        ('1\t"A <e1>b</e1> <e2>c</e2>."\n', "file.txt:1: this sentence has no relation: the file breaks off"),
        ('1\t"A <e1>b</e1> <e2>c</e2>."\n2\t"A <e1>b</e1> <e2>c</e2>."\nOther\n', "file.txt:2: the sentence before this one"),
        ('1\t"A <e1></e1> <e2>c</e2>."\nOther\n', "words between the marks are needed"),
    ],
)
def test_malformed_relations_are_named(tmp_path, text, message):
    with pytest.raises(AtlasError) as error:
        list(relation_edges(written(tmp_path, text)))
    assert message in str(error.value)


def test_coin_flips_are_the_same_every_time_and_part_about_15_percent():
    records = [EdgeRecord(str(k), ("w",), ()) for k in range(2000)]
    chosen = [record.id for record, held in coin_flips(records) if held]
    assert chosen == [record.id for record, held in coin_flips(records) if held]
    assert 0.12 < len(chosen) / 2000 < 0.18


def test_8000_records_are_parted_as_in_the_authors_table():
    records = (EdgeRecord(str(k), ("w",), ()) for k in range(8000))
    assert sum(held for _, held in coin_flips(records)) == 1149


def test_a_sentence_without_predicates_may_have_an_empty_column(tmp_path):
    text = TREE.replace("\t_\t_\n", "\t_\t_\t_\t\n").replace("SpaceAfter=No\n", "SpaceAfter=No\t_\t\n")
    ((tree, propositions),) = read_propositions(written(tmp_path, text))
    assert (len(tree), propositions) == (4, ())


WORDS = st.text(st.characters(blacklist_categories=("Cs", "Zs", "Cc", "Zl", "Zp")), min_size=1, max_size=5)


@st.composite
def records(draw):
    words = draw(st.lists(WORDS.filter(lambda w: w.split() == [w]), min_size=1, max_size=6))
    pairs = draw(st.booleans())
    targets = []
    for _ in range(draw(st.integers(0, 3))):
        ends = [sorted(draw(st.lists(st.integers(0, len(words)), min_size=2, max_size=2, unique=True))) for _ in range(2)]
        labels = draw(st.lists(st.sampled_from(["A", "B", "C"]), max_size=3, unique=True))
        targets.append(EdgeTarget(tuple(ends[0]), tuple(ends[1]) if pairs else None, tuple(labels)))
    return EdgeRecord("r", tuple(words), tuple(targets))


@given(records())
def test_records_are_read_as_they_were_written(tmp_path_factory, record):
    path = written(tmp_path_factory.mktemp("edges"), edge_line(record))
    assert list(read_edges(path)) == [record]


ROW = {"text": "a b c", "targets": [{"span1": [0, 2], "span2": [2, 3], "label": "x"}], "info": {"id": "i"}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": ""}, "there is no text"),
        ({"text": "a  b c"}, "parted by single spaces"),
        ({"text": "a b\tc"}, "parted by single spaces"),
        ({"targets": {}}, "a list of targets is needed"),
        ({"targets": [{"span1": [0, 4], "label": "x"}]}, "'span1' must be [start, stop] with 0 <= start < stop <= 3"),
        ({"targets": [{"span1": [2, 2], "label": "x"}]}, "not [2, 2]"),
        ({"targets": [{"span1": [0, True], "label": "x"}]}, "not [0, True]"),
        ({"targets": [{"span1": [0, 1], "label": 3}]}, "must be a label or a list of labels, not 3"),
        (
            {"targets": [{"span1": [0, 1], "label": "x"}, *ROW["targets"]]},
            "some targets of this file have one span, others two",
        ),
    ],
)
def test_malformed_records_are_named(tmp_path, change, message):
    path = written(tmp_path, json.dumps(ROW) + "\n" + json.dumps(ROW | change) + "\n")
    with pytest.raises(AtlasError) as error:
        list(read_edges(path))
    assert message in str(error.value)
    assert ":2: " in str(error.value)


def test_words_with_spaces_and_spans_outside_cannot_be_records():
    with pytest.raises(AtlasError, match="spaces part words"):
        edge_line(EdgeRecord("r", ("a b",), ()))
    with pytest.raises(AtlasError, match="does not lie within the 1 words"):
        EdgeRecord("r", ("a",), (EdgeTarget((0, 2), None, ("x",)),))
