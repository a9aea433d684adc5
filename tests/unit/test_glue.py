"""GLUE files: both forms, quotes as text, mistakes named with their place."""

import json

import pytest
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import ExampleBuilder, build_shard, read_examples
from attention_atlas.corpora.glue import TASKS, Labelled, Tagged, glue_records, labelled_example
from attention_atlas.corpora.records import Dropped
from attention_atlas.errors import AtlasError

MRPC = 'Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t5\t6\tHe said "no.\tHe said no\n0\t7\t8\tA b\tC "d"\n'


def read(tmp_path, text, task):
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    return list(glue_records(path, task))


def test_quotes_that_never_close_are_text(tmp_path):
    assert read(tmp_path, MRPC, "mrpc") == [
        Labelled("1", ('He said "no.', "He said no"), "1"),
        Labelled("2", ("A b", 'C "d"'), "0"),
    ]
    assert read(tmp_path, "\ufeff" + MRPC.replace("\n", "\r\n"), "mrpc") == read(tmp_path, MRPC, "mrpc")


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_read_as_text_and_as_json_lines(tmp_path, task):
    names = [options[-1] for options in (TASKS[task].first, TASKS[task].second) if options]
    label = TASKS[task].label[-1]
    value = 3.25 if TASKS[task].regression else "1"
    row = dict.fromkeys(names, "some words") | {label: value}
    text = "\t".join(row) + "\n" + "\t".join(map(str, row.values())) + "\n"
    (item,) = read(tmp_path, text, task)
    assert item.texts == ("some words",) * len(names)
    assert float(item.label) == float(value)
    assert read(tmp_path, json.dumps(row) + "\n\n", task) == [item]


@pytest.mark.parametrize("task", ["sst2", "stsb"])
def test_spellings_of_a_label_are_one_class_and_missing_ones_none(tmp_path, task):
    """A table with missing labels writes the others as 1.0, and the missing ones as null or NaN."""
    names = ["sentence"] if task == "sst2" else ["sentence1", "sentence2"]
    labels = [1, 1.0, "1", "1.0", " 1.00", None, float("nan"), "NaN", "", -1.0, 2.5]
    lines = "".join(json.dumps(dict.fromkeys(names, "x") | {"label": label}) + "\n" for label in labels)
    items = read(tmp_path, lines, task)
    assert [item.reason for item in items if isinstance(item, Dropped)] == ["no label"] * 5
    kept = [item.label for item in items if isinstance(item, Labelled)]
    assert kept == (["1"] * 5 + ["2.5"] if task == "sst2" else ["1", "1.0", "1", "1.0", "1.00", "2.5"])
    for text in (None, float("nan")):
        row = dict.fromkeys(names, text) | {"label": 1}
        assert read(tmp_path, json.dumps(row), task) == [Dropped("1", "empty text")]


QQP = (
    "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
    "1\t1\t2\tWhat is a cat?\tWhat are cats?\t1\n"
    "2\t3\t4\tHow do I sit?\t\t0\n"
    "3\t5\t6\n"
    '4\t7\t8\t"Is it so?\tIs it?\t0\n'
)


def test_rows_of_the_official_qqp_that_are_no_pairs_are_dropped_with_a_reason(tmp_path):
    """Its training file has questions without text and rows that end after three of six columns."""
    assert read(tmp_path, QQP, "qqp") == [
        Labelled("1", ("What is a cat?", "What are cats?"), "1"),
        Dropped("2", "empty text"),
        Dropped("3", "incomplete row", "3 of 6 columns"),
        Labelled("4", ('"Is it so?', "Is it?"), "0"),
    ]


@pytest.mark.parametrize(
    ("text", "task", "message"),
    [
        ("", "sst2", "the file is empty"),
        ("a\tb\n1\t2\n", "sst2", ":1: the task sst2 needs a column sentence. Found: a, b."),
        ("sentence\tlabel\nx\t1\ty\n", "sst2", ":2: 3 columns instead of 2"),
        ("sentence1\tsentence2\tscore\na\tb\thigh\n", "stsb", ":2: the score 'high' is not a number"),
        ("sentence1\tsentence2\tscore\na\tb\tinf\n", "stsb", "'inf' is not a number"),
        ('{"sentence": "x", "label": true}\n', "sst2", "'label' is not text"),
        ('{"sentence": "x", "label": 1}\n{"sentence": \n', "sst2", ":2: not a JSON object"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, text, task, message):
    with pytest.raises(AtlasError, match="file:") as caught:
        read(tmp_path, text, task)
    assert message in str(caught.value)


def test_pairs_become_examples_with_their_label(tmp_path):
    raw, out, dropped = tmp_path / "raw.tsv", tmp_path / "out.parquet", tmp_path / "dropped.tsv"
    raw.write_text("sentence1\tsentence2\tgold_label\nThe cat.\ta cats\tneutral\n" + "a\tb\t-\n" + "w " * 60 + "\tb\tneutral\n")
    entry = {"reader": "glue", "task": "mnli", "overlong": "drop", **FILE_ORDER, "max_tokens": 24, "shard": 8}
    build_shard(entry, raw, save_tokenizer(tmp_path / "tokenizer.json"), 64, 0, out, dropped)
    (example,) = read_examples([out])
    assert example.tokens == ("[CLS]", "the", "cat", ".", "[SEP]", "a", "cat", "##s", "[SEP]")
    assert example.segment_ids == (0, 0, 0, 0, 0, 1, 1, 1, 1)
    assert example.label == "neutral"
    assert [line.split("\t")[2] for line in dropped.read_text().splitlines()[1:]] == ["no label", "too long"]


@pytest.mark.parametrize(
    ("layers", "problem"),
    [
        ("x", "must be a list with an entry for each of 2 texts"),
        ([{"words": ["the", "cat"], "xpos": ["DT"], "relations": ["det", "nsubj"]}] * 2, "or in number from their tags"),
        ([{"words": ["a", "cat"], "xpos": ["DT", "NN"], "relations": ["det", "nsubj"]}] * 2, "differ from the text"),
        ([{"words": ["the", "cat"], "xpos": ["DT", 3], "relations": ["det", "nsubj"]}] * 2, "needs the lists words, xpos"),
        (
            [{"words": ["the", "cat"], "xpos": ["DT", "NN"], "relations": ["det", "nsubj"], "heads": [2, 3]}] * 2,
            "'heads' must be a list of 2 numbers from 0 to 2, or null",
        ),
    ],
)
def test_layers_that_do_not_fit_the_texts_are_refused(tmp_path, layers, problem):
    path = tmp_path / "rte.jsonl"
    path.write_text(json.dumps({"sentence1": "the cat", "sentence2": "the cat", "label": "x", "layers": layers}) + "\n")
    with pytest.raises(AtlasError, match=rf"rte\.jsonl:1: .*{problem}"):
        list(glue_records(path, "rte"))


def test_a_word_of_a_layer_may_contain_a_no_break_space(tmp_path):
    layer = {"words": ["10\u00a0000", "cats"], "xpos": ["CD", "NNS"], "relations": ["num", "root"]}
    (item,) = read(tmp_path, json.dumps({"sentence": "10\u00a0000 cats", "label": 1, "layers": [layer]}), "sst2")
    assert item.tagged[0].words == ("10\u00a0000", "cats")


def built(item, tokenizer, bound, overlong):
    return labelled_example(ExampleBuilder({"overlong": overlong}, "raw", tokenizer, bound), item)


def labelled(texts, overlong, bound, tokenizer):
    tags = [Tagged(tuple(t.split()), tuple("X" for _ in t.split()), tuple("r" for _ in t.split())) for t in texts]
    return built(Labelled("1", tuple(texts), "yes", tuple(tags)), tokenizer, bound, overlong)


def test_heads_of_a_pair_are_numbered_on_and_those_of_lost_words_are_unknown(tmp_path):
    tokenizer = WordPieces(save_tokenizer(tmp_path / "tokenizer.json"))
    first = Tagged(("the", "cat", "sat"), ("DT", "NN", "VBD"), ("det", "nsubj", "root"), (2, 3, 0))
    second = Tagged(("cats", "sat"), ("NNS", "VBD"), ("nsubj", "root"), (-1, 0))
    pair = Labelled("1", ("the cat sat", "cats sat"), "yes", (first, second))
    whole = built(pair, tokenizer, 40, "truncate")
    assert whole.layers["heads"] == (2, 3, 0, -1, 0)
    assert whole.texts == pair.texts
    room = len(whole.input_ids)
    cut = built(pair, tokenizer, room - len(tokenizer.pieces(["sat"])[0]), "truncate")
    assert cut.words[:2] == ("the", "cat")
    assert (cut.words[2] != "sat") == (cut.layers["heads"][1] == -1)
    assert cut.texts == pair.texts
    single = Labelled("1", ("the cat",), "yes", (Tagged(("the", "cat"), ("DT", "NN"), ("det", "root")),))
    without = built(single, tokenizer, 40, "drop")
    assert "heads" not in without.layers


def test_overlong_pairs_lose_the_last_pieces_of_the_longer_text(tmp_path):
    tokenizer = WordPieces(save_tokenizer(tmp_path / "tokenizer.json"))
    texts = ["the cat sat cats", "the cat"]
    whole = labelled(texts, "truncate", 40, tokenizer)
    assert labelled(texts, "drop", len(whole.input_ids), tokenizer) == whole
    for bound in range(5, len(whole.input_ids)):
        assert labelled(texts, "drop", bound, tokenizer).reason == "too long"
        cut = labelled(texts, "truncate", bound, tokenizer)
        assert len(cut.input_ids) == bound
        first, second = (
            sum(word >= 0 and segment == k for word, segment in zip(cut.word, cut.segment_ids, strict=True)) for k in (0, 1)
        )
        # The slow way: pieces are popped one by one from the longer text, of two alike from the second.
        sizes = [sum(map(len, tokenizer.pieces(t.split()))) for t in texts]
        while sum(sizes) > bound - 3:
            sizes[0 if sizes[0] > sizes[1] else 1] -= 1
        assert [first, second] == sizes
        assert len(cut.layers["xpos"]) == len(cut.words) == max(cut.word) + 1
