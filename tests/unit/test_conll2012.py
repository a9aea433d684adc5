"""Coreference columns: every variant is read, nested mentions included, and what is malformed is named with its line."""

import hashlib
import io
import json
import tarfile

import pytest
from edge_records import read_edge_records
from small_entries import written

from attention_atlas.corpora.conll2012 import Span, conll2012_records
from attention_atlas.corpora.edges import FORM_TASKS
from attention_atlas.corpora.sources import check_content
from attention_atlas.errors import AtlasError

FULL = """#begin document (bn/abc); part 001
bn/abc   1   0   The    DT  (TOP(S(NP(NP*    -  -  -  -  *  (3
bn/abc   1   1   dog    NN  *)               -  -  -  -  *  -
bn/abc   1   2   of     IN  (PP*             -  -  -  -  *  -
bn/abc   1   3   Mary   NNP (NP*)))          -  -  -  -  *  (1)|3)
bn/abc   1   4   ran    VBD (VP*)))          -  -  -  -  *  -

bn/abc   1   0   She    PRP (TOP(S(NP*)      -  -  -  -  *  (1)
bn/abc   1   1   (      -LRB- *              -  -  -  -  *  -
bn/abc   1   2   fed    VBD (VP*             -  -  -  -  *  -
bn/abc   1   3   it     PRP (NP*))))         -  -  -  -  *  (3)
#end document
"""


def twelve(text):
    """Lines "document word chains" as a document in twelve columns."""
    rows = [line.split(" ") for line in text.splitlines()]
    lines = [f"{name} 0 0 {word} - - - - - - - {chains}\n" for name, word, chains in rows]
    return "".join([f"#begin document ({rows[0][0]}); part 000\n", *lines, "#end document\n"])


def read(folder, text, name="a.conll"):
    return list(conll2012_records(written(folder / name, text)))


def refusal(folder, text):
    with pytest.raises(AtlasError) as caught:
        read(folder, text)
    return str(caught.value).removeprefix(str(folder) + "/")


def test_twelve_columns(tmp_path):
    (document,) = read(tmp_path, FULL)
    assert document.id == "bn/abc/1"
    assert document.words == ("The", "dog", "of", "Mary", "ran", "She", "(", "fed", "it")
    assert document.sentence == (0, 0, 0, 0, 0, 1, 1, 1, 1)
    assert document.tags[:4] == ("DT", "NN", "IN", "NNP")
    assert document.spans == (Span(0, 4, "3"), Span(3, 4, "1"), Span(5, 6, "1"), Span(8, 9, "3"))
    assert document.parses[0] == "(TOP(S(NP(NP(DT The)(NN dog))(PP(IN of)(NP(NNP Mary))))(VP(VBD ran))))"
    assert "(-LRB- -LRB-)" in document.parses[1]


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        (twelve("d a (0\nd b (0\nd c 0)\nd e 0)"), {"d": ([*"abce"], [Span(0, 4, "0"), Span(1, 3, "0")])}),
        ("\ufeff#begin document (d);\r\nd 0 0 a - - - - - - - (0)\r\n\r\n#end\r\n", {"d": (["a"], [Span(0, 1, "0")])}),
        # Tabs, as in LitBank, with an empty last column.
        (
            "#begin document (d);\nd\t0\t0\tIn" + "\t_" * 8 + "\t\nd\t0\t1\t\u3000" + "\t_" * 8 + "\t(4)\n",
            {"d": (["In", "\u3000"], [Span(1, 2, "4")])},
        ),
        (
            twelve("0 x (1|(2)\n0 y (3)|1)|(2)"),
            {"0": (["x", "y"], [Span(0, 2, "1"), Span(0, 1, "2"), Span(1, 2, "2"), Span(1, 2, "3")])},
        ),
    ],
)
def test_words_and_chains_are_those_of_the_file(tmp_path, text, documents):
    read_documents = {document.id: (list(document.words), list(document.spans)) for document in read(tmp_path, text)}
    assert read_documents == documents


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (twelve("d a ((3"), "a.conll:2: the last column is '((3' instead of chains"),
        (twelve("d a (0\nd b -"), "a.conll:2: the mention of chain 0 that starts here has no end in its sentence"),
        (twelve("d a -\nd b 0)"), "a.conll:3: a mention of chain 0 ends here but has no start"),
        (twelve("d a (0)") + "d b\n", "a.conll:4: 2 columns, but CoNLL-2012 has at least 12"),
        (twelve("d a (0)") + "d 0 0 b - - - - - - - -\n", "a.conll:4: a word outside of a document"),
        ("#begin document (a); part 0\n#end document\n", "a.conll: there is no document in this source"),
    ],
)
def test_malformed_files_are_named_with_their_line(tmp_path, text, expected):
    assert refusal(tmp_path, text).startswith(expected)


def archive(path, files):
    with tarfile.open(path, "w:xz") as out:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            out.addfile(info, io.BytesIO(text.encode()))
    return path


def test_folders_and_archives_are_read_in_the_order_of_names(tmp_path):
    files = {"z/b_gold_conll": twelve("b b (0)"), "a.conll": twelve("a a (0)"), "notes.txt": "no\n"}
    # Nothing is unpacked, so a name that leads out of the folder leads nowhere.
    files |= {"z/../../c.conll": twelve("c c (0)"), "chinese/d.conll": twelve("d d (0)")}
    packed = archive(tmp_path / "x.tar.xz", files)
    assert [d.id for d in conll2012_records(packed, "*conll")] == ["a", "c", "b"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.tar.xz"]
    # A folder above the source is none of it.
    folder = tmp_path / "chinese" / "deep"
    folder.mkdir(parents=True)
    (folder / "b.v4_gold_conll").write_text(twelve("b b (0)"))
    (folder / "._b.v4_gold_conll").write_text("\0\5")
    assert [d.id for d in conll2012_records(tmp_path / "chinese")] == ["b"]


def test_a_document_that_comes_twice_is_refused_with_both_files(tmp_path):
    part = twelve("d a (0)")
    packed = archive(tmp_path / "x.tar.xz", {"a/one_gold_conll": part, "b/one_gold_conll": part})
    with pytest.raises(AtlasError, match=r"document d is in .*:a/one_gold_conll and in .*:b/one_gold_conll"):
        list(conll2012_records(packed))
    assert "document d is twice in" in refusal(tmp_path, part + part)
    assert [d.id for d in read(tmp_path, part + part.replace("000", "001", 1))] == ["d", "d/1"]


def test_the_content_of_an_archive_is_checked_whatever_its_packing(tmp_path):
    expected = hashlib.sha256(b"a\tO\nb\tO\n").hexdigest()
    whole = {"r/entities/z/a.tsv": "a\tO\n", "r/entities/b.tsv": "b\tO\n", "r/events/a.tsv": "a\tEVENT\n", "r/a.conll": ""}
    for name, files in (("whole", whole), ("part", {"b.tsv": "b\tO\n", "a.tsv": "a\tO\n"})):
        packed = archive(tmp_path / name, files)
        check_content(packed, expected, "entities/*.tsv")
        # The reader takes the same files.
        assert {record.words for record in read_edge_records("entities", ["entities"], packed)} == {("a",), ("b",)}
    for pattern, files in (("*.tsv", whole), ("entities/*.tsv", whole | {"r/entities/b.tsv": "b\tB-X\n"})):
        with pytest.raises(AtlasError, match="wrong checksum: expected content_sha256"):
            check_content(archive(tmp_path / "other", files), expected, pattern)


# OntoNotes from its data set on the hub: the same documents and targets as from the gold files.
GOLD = """\
#begin document (nw/x/00/x_0000); part 000
nw/x/00/x_0000 0 0 Joan NNP (TOP(S(NP*) - - - - (PERSON) (ARG0*) * (0)
nw/x/00/x_0000 0 1 Smith NNP (VP* - - - - (ORG* * * -
nw/x/00/x_0000 0 2 fed VBD * - - - - *) (V*) * -
nw/x/00/x_0000 0 3 ( -LRB- (NP(NP* - - - - (PERSON* (ARG1* (ARG0* (1|(0|(7)
nw/x/00/x_0000 0 4 cat NN *) - - - - *) * *) 0)
nw/x/00/x_0000 0 5 sleeping VBG (VP*))) - - - - * *) (V*) 1)
nw/x/00/x_0000 0 6 . . *)) - - - - (DATE) * * (1)

nw/x/00/x_0000 0 0 Mm XX - - - - - * -

#end document
#begin document (nw/x/00/x_0000); part 001
nw/x/00/x_0000 1 0 It PRP (TOP(S(NP*) - - - - * (0)
nw/x/00/x_0000 1 1 sle\u00a0pt VBD (VP*))) - - - - * -

#end document
"""
FIRST = {
    "part_id": 0,
    "words": ["Joan", "Smith", "fed", "(", "cat", "sleeping", "."],
    "pos_tags": ["NNP", "NNP", "VBD", "-LRB-", "NN", "VBG", "."],
    # Spaces as the data set has them.
    "parse_tree": "(TOP(S(NP (NNP Joan) )(VP (NNP Smith)  (VBD fed) (NP(NP (-LRB- -LRB-)  (NN cat) )"
    "(VP (VBG sleeping) ))) (. .) ))",
    "named_entities": ["B-PERSON", "B-ORG", "I-ORG", "B-PERSON", "I-PERSON", "O", "B-DATE"],
    "srl_frames": [
        {"verb": "fed", "frames": ["B-ARG0", "O", "B-V", "B-ARG1", "I-ARG1", "I-ARG1", "O"]},
        {"verb": "sleeping", "frames": ["O", "O", "O", "B-ARG0", "I-ARG0", "B-V", "O"]},
    ],
    # In no order.
    "coref_spans": [[7, 3, 3], [0, 3, 4], [1, 6, 6], [0, 0, 0], [1, 3, 5]],
}
EMPTY = {"srl_frames": [], "coref_spans": []}
UNPARSED = {**EMPTY, "part_id": 0, "words": ["Mm"], "pos_tags": ["XX"], "parse_tree": None, "named_entities": ["O"]}
LAST = {**EMPTY, "part_id": 1, "words": ["It", "sle\u00a0pt"], "pos_tags": ["PRP", "VBD"], "named_entities": ["O", "O"]}
LAST |= {"parse_tree": "(TOP(S(NP (PRP It) )(VP (VBD sle\u00a0pt) )))", "coref_spans": [[0, 0, 0]]}
ROW = {"document_id": "nw/x/00/x_0000", "sentences": [FIRST, UNPARSED, LAST]}


def test_the_readers_take_the_same_from_both(tmp_path):
    raw, gold = tmp_path / "raw", tmp_path / "gold"
    raw.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    gold.write_text(GOLD, encoding="utf-8")
    assert list(conll2012_records(raw)) == list(conll2012_records(gold))
    of_hub, of_files = (list(read_edge_records("conll2012", FORM_TASKS["conll2012"], path)) for path in (raw, gold))
    assert of_hub == of_files
    assert {target.task for record in of_hub for target in record.targets} == set(FORM_TASKS["conll2012"])
