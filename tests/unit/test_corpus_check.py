"""Which readers take a file of the user, what they drop, and what a run with it can have."""

import gzip
import json

import pytest
from small_config import SHIPPED
from small_tokenizer import save_tokenizer

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.corpus_check import NAME, attempts, fault_of, measure_lengths, overlay, possible_artifacts

TREE = "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
TWO_ROOTS = TREE.replace("\t2\tdet", "\t0\troot")
CONLL2012 = "#begin document (a); part 000\n" + "".join(
    f"a 0 {k} {word} NN {parse} - - - - * {chain}\n"
    for k, (word, parse, chain) in enumerate([("the", "(TOP(NP*", "(1"), ("cat", "*", "1)"), ("cat", "*))", "(1)")])
)
QUESTION = {"id": "1", "question": "the cat", "answers": [{"text": "cat", "answer_start": 4}]}
FILES = {
    "conllu": TREE + TWO_ROOTS + TREE,
    "conll2012": CONLL2012 + "\n#end document\n",
    "gap": "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "test-1\tcat the the\tthe\t4\tcat\t0\tTRUE\tthe\t8\tFALSE\thttp://x\n",
    "squad": json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "the cat.", "qas": [QUESTION]}]}]}),
    "glue, sst2": "sentence\tlabel\nthe cat\t1\ncat\t0\n",
    "frames": json.dumps([{"sentence": "the cat", "target": "cat", "links": ["the"]}]),
    "parallel": '{"en": "the cat", "fr": "the cat"}\n',
    "edges, records": '{"text": "the cat", "targets": [{"span1": [0, 1], "label": "DT", "task": "pos"}]}\n',
    "keyphrases": '{"text": "the cat.", "keyphrases": ["cat"]}\n',
    "vectors": "the 0.1 0.2\ncat 0.3 0.4\n",
}


@pytest.fixture
def tokenizer(tmp_path):
    return save_tokenizer(tmp_path / "tokenizer.json")


def tried(path, tokenizer):
    return {attempt.label: attempt for attempt in attempts(path, tokenizer, SHIPPED)}


@pytest.mark.parametrize("label", FILES)
def test_a_small_file_of_each_reader_is_taken_by_it(tmp_path, tokenizer, label):
    path = tmp_path / "mine"
    path.write_text(FILES[label], encoding="utf-8")
    by_label = tried(path, tokenizer)
    attempt = by_label[label]
    assert attempt.refusal == "", attempt
    assert attempt.records >= 1
    # Readers of other files say why they refuse it, with the file's name.
    refused = [other for other in by_label.values() if other.refusal]
    assert len(refused) > 8
    assert "segments" not in by_label, "a file of a reader is not offered as plain text"
    assert [other.label for other in refused if str(path) not in other.refusal] == []
    added = overlay(path, attempt, SHIPPED, "minilm")
    if label == "vectors":
        assert added == {}
        return
    listed = possible_artifacts(SHIPPED, added)
    assert sum(map(len, listed.values())) >= 1
    named = resolve(merged(SHIPPED, added))["corpora"]
    assert any(name.startswith(NAME) and entry["source"].get("path") == str(path) for name, entry in named.items())


def test_what_is_dropped_is_counted_with_its_reason(tmp_path, tokenizer):
    path = tmp_path / "mine.conllu"
    path.write_text(FILES["conllu"], encoding="utf-8")
    attempt = tried(path, tokenizer)["conllu"]
    assert (attempt.records, attempt.dropped) == (3, {"several roots": 1})
    assert overlay(path, attempt, SHIPPED, "minilm")["corpora"][NAME]["limit"] == 3


def test_artefacts_of_a_treebank(tmp_path, tokenizer):
    path = tmp_path / "mine.conllu"
    path.write_text(FILES["conllu"], encoding="utf-8")
    listed = possible_artifacts(SHIPPED, overlay(path, tried(path, tokenizer)["conllu"], SHIPPED, "minilm"))
    assert listed["clark2019"] == ["table1", "figure5", "noop"]
    assert "measures" in listed["atlas"]


@pytest.mark.parametrize(
    "text",
    [
        "\n\nthe cat, the cat.\nthe cat the (all the cat)\n\ncat the\nthe, cat\n",
        '"the cat, the\nand, the, cat.\ncat the.\nthe cat the cat.\n',
    ],
)
def test_text_that_begins_with_a_blank_line_or_has_quotes_is_running_text(tmp_path, tokenizer, text, caplog):
    path = tmp_path / "mine.txt"
    path.write_text(text, encoding="utf-8")
    assert [attempt.label for attempt in tried(path, tokenizer).values() if not attempt.refusal] == ["segments"]
    assert "the file is damaged" not in caplog.text, "no message of a reader that cannot read it"


def test_plain_text_is_tried_where_no_other_reader_takes_a_file(tmp_path, tokenizer):
    path = tmp_path / "mine.txt"
    path.write_text("the cat. the cat.\nthe cat the\n\ncat the\nthe\n", encoding="utf-8")
    by_label = tried(path, tokenizer)
    assert [attempt.label for attempt in by_label.values() if not attempt.refusal] == ["segments"]
    listed = possible_artifacts(SHIPPED, overlay(path, by_label["segments"], SHIPPED, "minilm"))
    assert {"figure1", "figure2", "positions"} <= set(listed["clark2019"])
    # What it does not read is the generated sample's, and no artefact of it is listed.
    assert "table1" not in listed["clark2019"]


@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 8, b'{"a": 1}\n', b"PK\x03\x04 cut off"])
def test_a_file_that_none_takes_is_refused_by_all_with_a_sentence(tmp_path, tokenizer, content):
    path = tmp_path / "mine"
    path.write_bytes(content)
    by_label = tried(path, tokenizer)
    assert len(by_label) > 15
    assert [attempt.label for attempt in by_label.values() if not attempt.refusal] == []


def test_the_fault_of_a_file_is_named_by_line(tmp_path, tokenizer):
    path = tmp_path / "mine.conllu"
    path.write_text(TREE + TREE.replace("\t2\tdet", "\t7\tdet"), encoding="utf-8")
    assert f"{path}:4" in tried(path, tokenizer)["conllu"].refusal


def test_a_folder_is_read_by_the_readers_of_folders(tmp_path, tokenizer):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.gold_conll").write_text(FILES["conll2012"], encoding="utf-8")
    by_label = tried(folder, tokenizer)
    assert set(by_label) == {"conll2012", "frames", "keyphrases", "edges, conll2012", "edges, entities"}
    assert by_label["conll2012"].refusal == ""
    assert by_label["frames"].refusal != ""


def test_a_path_that_is_not_there_is_one_sentence(tmp_path, tokenizer):
    with pytest.raises(AtlasError, match="there is no such file or folder"):
        attempts(tmp_path / "nothing", tokenizer, SHIPPED)


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("head.conllu", TREE + TREE.replace("\t2\tdet", "\t7\tdet"), "a table or a treebank"),
        ("tab.conllu", TREE + TREE.replace("\tDET", " DET"), "a table or a treebank"),
        ("cut.conllu", TREE * 3 + TREE[:30], "a table or a treebank"),
        ("a.xml", "<frame>\n<text>the cat.</text>\n</frame>\n", "XML"),
        ("a.json", '{"a": 1}\n', "JSON"),
        ("a.mrg", "\n( (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .)))\n" * 3, "parse trees"),
        ("b.mrg", "(TOP\n  (S\n    (NP (DT The) (NN cat))\n    (VP (VBD sat))))\n" * 3, "parse trees"),
        ("a.csv", 'text,kind\n"the cat, the cat",1\nthe,0\ncat,1\n', "a table or a treebank"),
        ("a.conll", "1 the DT\n2 cat NN\n3 cat NN\n\n1 the DT\n2 cat NN\n", "a table or a treebank"),
        ("heads", "the 2-det\ncat 3-nsubj\ncat 0-root\n\nthe 2-det\n", "a table or a treebank"),
    ],
)
def test_a_file_in_a_form_of_its_own_is_not_offered_as_running_text(tmp_path, tokenizer, name, content, form):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    by_label = tried(path, tokenizer)
    assert [attempt.label for attempt in by_label.values() if not attempt.refusal] == []
    assert by_label["segments"].refusal == f"{path}: it looks like {form}, not like running text."


def test_the_gold_files_of_a_tree_are_read_and_not_the_automatic_ones_beside_them(tmp_path, tokenizer):
    folder = tmp_path / "development"
    (folder / "bc").mkdir(parents=True)
    for kind in ("gold", "auto"):
        (folder / "bc" / f"a.v4_{kind}_conll").write_text(FILES["conll2012"], encoding="utf-8")
    attempt = tried(folder, tokenizer)["conll2012"]
    assert (attempt.refusal, attempt.records, attempt.entry["files"]) == ("", 1, "*gold_conll")


def test_columns_without_chains_and_labels_of_another_task_are_refused(tmp_path, tokenizer):
    path = tmp_path / "mine"
    path.write_text(FILES["conll2012"].replace("* (1\n", "* -\n").replace("* 1)\n", "* -\n").replace("* (1)\n", "* -\n"))
    assert tried(path, tokenizer)["conll2012"].refusal.endswith("records (1) have no coreference chains in the last column.")
    path.write_text("index\tquestion\tsentence\tlabel\n0\tthe cat\tcat\tentailment\n1\tcat\tthe\tnot_entailment\n")
    by_label = tried(path, tokenizer)
    assert by_label["glue, sst2"].refusal == f"{path}: its labels are entailment, not_entailment, not 0 and 1."
    assert by_label["glue, qnli"].refusal == ""


UD = TREE.replace("2\tdet\t_", "2\tobj\t_")
FRENCH, ENGLISH = "le chat et la table de fer", "the cat and the table of iron"
WSJ = {"reader": "conllu", "relations": ["dobj", "pobj"]}


@pytest.mark.parametrize(
    ("entry", "content", "fault"),
    [
        (
            WSJ,
            UD * 60,
            "its first records (60) have none of the relations dobj, pobj, but obj, root: it is annotated",
        ),
        (WSJ, UD + UD.replace("obj", "pobj"), ""),
        (WSJ, TWO_ROOTS, "no usable example among the first 200 records (1 record: several roots)"),
        ({"reader": "conllu"}, UD, ""),
        (
            {"reader": "edges", "format": "conllu", "edge_tasks": ["dependencies"], "relations": ["obl"]},
            UD * 3,
            "its first records (3) have none of the relations obl, but",
        ),
        ({"reader": "glue", "task": "qqp"}, "<!DOCTYPE html>\n<html>404</html>\n", ":1: the task qqp needs a column question1"),
        ({"reader": "conll2012"}, {"notes.txt": "none"}, "there is no file here whose name matches '*gold_conll'"),
        ({"reader": "conll2012"}, {"a.v4_gold_conll": CONLL2012}, ""),
        (
            {"reader": "edges", "format": "conll2012", "edge_tasks": ["coreference", "roles"]},
            {"a.v4_gold_conll": CONLL2012},
            "its first records have no targets for roles.",
        ),
        (
            {"reader": "parallel", "languages": ["en", "fr"]},
            (json.dumps({"en": FRENCH, "fr": ENGLISH}) + "\n") * 9,
            "its first records (9) have texts in 'fr' where 'en' is needed",
        ),
        (
            {"reader": "parallel", "languages": ["en", "fr"]},
            (json.dumps({"en": ENGLISH, "fr": ENGLISH}) + "\n") * 9,
            "its first records (9) have texts in 'en' where 'fr' is needed",
        ),
        ({"reader": "parallel", "languages": ["en", "fr"]}, (json.dumps({"en": ENGLISH, "fr": FRENCH}) + "\n") * 9, ""),
        ({"reader": "lines"}, "", ""),
        ({"reader": "vectors"}, "the cat\n", "the vector of 'the' holds something that is not a number"),
    ],
)
def test_what_a_users_file_is_is_compared_with_what_its_entry_says(tmp_path, entry, content, fault):
    path = tmp_path / "mine"
    for name, text in content.items() if isinstance(content, dict) else [("", content)]:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    mine = {"source": {"path": str(path)}, "limit": 5000, **entry}
    message = fault_of(resolve(merged(SHIPPED, {"corpora": {NAME: mine}})), NAME)
    assert message.startswith(str(path) if fault else "")
    assert fault in message
    assert bool(message) == bool(fault)


def test_lengths_of_a_users_texts_are_measured(tmp_path):
    path = tmp_path / "mine.conllu"
    path.write_text(TREE * 10, encoding="utf-8")
    mine = {"reader": "conllu", "source": {"path": str(path)}, "limit": 5000}
    config = resolve(merged(SHIPPED, {"corpora": {NAME: mine}}))
    measure_lengths(config, [NAME, "sample-trees", "ewt-dev"])
    # Two words and two special tokens.
    assert config["corpora"][NAME]["mean_tokens"] == 4
    assert [config["corpora"][name].get("mean_tokens") for name in ("sample-trees", "ewt-dev")] == [
        SHIPPED["corpora"][name].get("mean_tokens") for name in ("sample-trees", "ewt-dev")
    ]


def test_a_compressed_file_that_is_cut_off_and_json_that_is_nested_too_deeply_are_refused(tmp_path, tokenizer):
    cut = tmp_path / "mine.conllu.gz"
    cut.write_bytes(gzip.compress(TREE.encode() * 200)[:60])
    nested = tmp_path / "mine.json"
    nested.write_text("[" * 100_000, encoding="utf-8")
    for path in (cut, nested):
        by_label = tried(path, tokenizer)
        assert [attempt.label for attempt in by_label.values() if not attempt.refusal] == []
        assert [attempt.label for attempt in by_label.values() if str(path) not in attempt.refusal] == []
