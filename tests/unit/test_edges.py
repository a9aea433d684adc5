"""Edge-probing records: reading and writing, and converters from annotated corpora against hand-made cases."""

import json
import zipfile

import pytest
from edge_records import read_edge_records
from small_entries import written

from attention_atlas.corpora.edges import FORM_TASKS, coin_flips, constituent_label
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
d\t0\t0\tJoan\tNNP\t(S(NP*)\t-\t-\t-\t-\t(PERSON)\t(ARG0*)\t(0)
d\t0\t1\tfed\tVBD\t(VP*\tfeed\t01\t-\t-\t*\t(V*)\t-
d\t0\t2\ther\tPRP$\t(NP-OBJ*\t-\t-\t-\t-\t*\t(ARG1*\t(1|(0)
d\t0\t3\tcat\tNN\t*)))\t-\t-\t-\t-\t*\t*)\t1)

d\t0\t0\tIt\tPRP\t(S(NP*)\t-\t-\t-\t-\t-\t(1)
d\t0\t1\tslept\tVBD\t(VP*))\t-\t-\t-\t-\t-\t-

#end document
"""


def spans(record, task=None):
    return [(target.span1, target.span2, *target.labels) for target in record.targets if task in (None, target.task)]


def test_tags_are_words_and_dependencies_pairs_with_the_root_paired_with_itself(tmp_path):
    (record,) = read_edge_records("conllu", ["pos", "dependencies"], written(tmp_path / "file.txt", TREE))
    assert (record.id, record.words) == ("s1", ("The", "cat", "sleeps", "."))
    assert spans(record, "pos") == [((k, k + 1), None, tag) for k, tag in enumerate(("DT", "NN", "VBZ", "."))]
    assert spans(record, "dependencies") == [
        ((0, 1), (1, 2), "det"),
        ((1, 2), (2, 3), "nsubj"),
        ((2, 3), (2, 3), "root"),
        ((3, 4), (2, 3), "punct"),
    ]


def test_arguments_are_subtrees_but_not_across_their_predicate(tmp_path):
    (record,) = read_edge_records("propositions", ["roles"], written(tmp_path / "file.txt", PROPOSITIONS))
    # All words below "man" hold the predicate "slept" itself.
    slept = [((3, 4), (1, 2), "ARG0"), ((3, 4), (2, 3), "R-ARG0"), ((3, 4), (4, 5), "ARGM-MNR")]
    assert spans(record) == [*slept, ((5, 6), (0, 5), "ARG0"), ((5, 6), (6, 8), "ARG1")]


def test_all_layers_of_conll_2012_are_targets_on_one_record(tmp_path):
    tasks = FORM_TASKS["conll2012"]
    first, second = read_edge_records("conll2012", tasks, written(tmp_path / "d.conll", DOCUMENT))
    assert (first.words, first.document) == (("Joan", "fed", "her", "cat"), "d")
    assert spans(first, "pos") == [((k, k + 1), None, tag) for k, tag in enumerate(("NNP", "VBD", "PRP$", "NN"))]
    # Functions of brackets (NP-OBJ) are no part of the label.
    brackets = [((0, 4), None, "S"), ((0, 1), None, "NP"), ((1, 4), None, "VP"), ((2, 4), None, "NP")]
    assert spans(first, "constituents") == brackets
    assert spans(first, "entities") == [((0, 1), None, "PERSON")]
    assert spans(first, "roles") == [((1, 2), (0, 1), "ARG0"), ((1, 2), (2, 4), "ARG1")]
    assert sorted(spans(first, "coreference")) == [((0, 1), (2, 3), "1"), ((0, 1), (2, 4), "0"), ((2, 4), (2, 3), "0")]
    assert (second.id, len(spans(second, "constituents"))) == ("d-2", 3)
    assert spans(second, "coreference") == [], "one mention makes no pair, and chains do not cross sentences"


UNPARSED = """\
#begin document (d); part 000
d\t0\t0\tMary\tXX\t(TOP*\t-\t-\t-\t-\t*\t(ARG0*)\t-
d\t0\t1\tquickly\tXX\t*\t-\t-\t-\t-\t*\t*\t-
d\t0\t2\tate\tVERB\t*)\teat\t01\t-\t-\t*\t(V*)\t-

d\t0\t0\tMary\tNNP\t(TOP(S(NP*)\t-\t-\t-\t-\t(PERSON)\t-
d\t0\t1\tate\tVBD\t(VP*)))\t-\t-\t-\t-\t*\t-

#end document
"""


@pytest.mark.parametrize(("old", "new"), [("Mary\tNNP", "Mary\tXX"), ("ate\tVBD", "XX\tVBD")])
def test_sentences_with_a_tag_or_word_xx_are_unparsed(tmp_path, old, new):
    corpus = written(tmp_path / "d.conll", UNPARSED.replace(old, new))
    unparsed, second = read_edge_records("conll2012", FORM_TASKS["conll2012"], corpus)
    assert spans(unparsed, "pos") == spans(unparsed, "constituents") == []
    assert spans(unparsed, "roles") == [((2, 3), (0, 1), "ARG0")], "other layers are read as they are"
    assert spans(second, "pos") == spans(second, "constituents") == []


def test_labels_of_constituents_are_those_of_the_published_code():
    brackets = ["NP", "NP-SBJ-1", "NP=2", "ADVP|PRT", "NP-S", "NP-S-3", "-LRB-", "PRP$", "S-SBJ"]
    labels = ["NP", "NP", "NP", "ADVP", "NP-S", "NP-S", "-LRB-", "PRP$", "S"]
    assert list(map(constituent_label, brackets)) == labels


def test_nested_entities_are_read_from_columns_of_tags(tmp_path):
    text = "\ufeffThe\tB-PER\tO\r\nmayor\tI-PER\tO\r\nof\tI-PER\tO\r\nBath\tI-PER\tB-GPE\r\nslept\tO\tO\r\n\r\n"
    text += "Anna\tB-PER\tO\nBob\tB-PER\tO\n\u00a0\tI-PER\tO\nUN\tI-ORG\tO\n"
    first, second = read_edge_records("entities", ["entities"], written(tmp_path / "novel.tsv", text))
    assert (first.id, first.words[-1], second.document) == ("novel.tsv-1", "slept", "novel.tsv")
    assert spans(first) == [((0, 4), None, "PER"), ((3, 4), None, "GPE")]
    assert spans(second) == [((0, 1), None, "PER"), ((1, 3), None, "PER"), ((3, 4), None, "ORG")]


PROTOROLES = {
    "ewt-dev-1": {
        "ewt-dev-1-semantics-pred-3%%ewt-dev-1-semantics-arg-2": {
            "protoroles": {
                "volition": {"value": {"a": 4, "b": 3}, "confidence": {"a": 1, "b": 1}},
                "sentient": {"value": {"a": 4, "b": 4}, "confidence": {"a": 1, "b": 0}},
                "awareness": {"value": {"a": 3, "b": 3}, "confidence": {"a": 1, "b": 1}},
            }
        }
    },
    "ewt-train-1": {"not read": {}},
}


def protoroles(tmp_path, data, old="", new=""):
    with zipfile.ZipFile(tmp_path / "spr.zip", "w") as archive:
        archive.writestr("protoroles.json", json.dumps({"metadata": {}, "data": data}).replace(old, new))
    return tmp_path / "spr.zip"


def test_properties_of_arguments_are_true_by_their_mean_response(tmp_path):
    treebank = written(tmp_path / "en-ud-dev.conllu", TREE)
    (record,) = read_edge_records("decomp", ["protoroles"], protoroles(tmp_path, PROTOROLES), treebank)
    # What does not apply counts as the lowest response: the mean for "sentient" is 2 of 4.
    assert spans(record) == [((2, 3), (0, 2), "awareness", "volition")]
    shorter = protoroles(tmp_path, PROTOROLES, "semantics-arg-2", "semantics-arg-9")
    with pytest.raises(AtlasError, match="word 9 is annotated, but the sentence has 4 words"):
        list(read_edge_records("decomp", ["protoroles"], shorter, treebank))


def test_relations_are_read_in_the_form_of_semeval(tmp_path):
    text = '1\t"The <e1>big child</e1> slept in the<e2>cradle</e2>."\nEntity-Destination(e1,e2)\nComment: none\n\n'
    (record,) = read_edge_records("semeval", ["relations"], written(tmp_path / "file.txt", text))
    assert record.words == ("The", "big", "child", "slept", "in", "the", "cradle", ".")
    assert spans(record) == [((1, 3), (6, 7), "Entity-Destination(e1,e2)")]
    assert record.spaces == (False, True, True, True, True, True, False, False)


MARKED = '1\t"A <e1>b</e1> <e2>c</e2>."\n'
ROW = {"text": "a b c", "targets": [{"span1": [0, 2], "span2": [2, 3], "label": "x"}], "info": {"id": "i"}}


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("propositions", PROPOSITIONS.replace("\tsleep.01\tV\t_", "\tsleep.01\tV"), "there must be one for each predicate"),
        ("conll2012", DOCUMENT.replace("(ARG1*\t(1", "(ARG1*)\t(1"), ":5: '*)' closes a bracket"),
        ("entities", "Mr\tB-PER\n\tI-PER\nX\tI-PER\n", ":2: the word is empty"),
        ("semeval", '1\t"A <e1>b</e1> c."\nOther\n', ":1: expected words within <e1>"),
        ("semeval", MARKED + MARKED + "Other\n", ":1: this sentence has no relation"),
        *[
            ("records", json.dumps(ROW) + "\n" + json.dumps(ROW | change) + "\n", f":2: {message}")
            for change, message in (
                ({"text": "a  b c"}, "separate the words of a text by single spaces"),
                ({"targets": [{"span1": [0, 4], "label": "x"}]}, "'span1' must be [start, stop] with 0 <= start < stop <= 3"),
                ({"targets": [{"span1": [0, 1], "label": "x"}]}, "some targets of a task have one span, others two"),
            )
        ],
    ],
)
def test_faults_are_named_with_their_place(tmp_path, form, text, message):
    tasks = [{"entities": "entities", "semeval": "relations"}.get(form, "roles")]
    with pytest.raises(AtlasError) as error:
        list(read_edge_records(form, tasks, written(tmp_path / "file.txt", text)))
    assert message in str(error.value)


def test_parts_are_those_of_the_authors_table_and_share_no_record(tmp_path):
    path = written(tmp_path / "file.txt", "".join(f'{k}\t"<e1>a</e1> <e2>b</e2>"\nOther\n' for k in range(1, 60)))
    every, training, development = (
        [record.id for record in read_edge_records("semeval", ["relations"], path, part=part)]
        for part in ("all", "training", "development")
    )
    assert sorted(training + development, key=int) == every
    assert 3 < len(development) < 20
    assert sum(held for _, held in coin_flips(range(8000))) == 1149
