"""GLUE files: both forms, quotes as text, mistakes named with their place."""

import json

import pytest
from small_entries import written

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import ExampleBuilder
from attention_atlas.corpora.glue import TASKS, Labelled, Tagged, glue_records, labelled_example
from attention_atlas.corpora.records import Dropped
from attention_atlas.errors import AtlasError

MRPC = 'Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t5\t6\tHe said "no.\tHe said no\n0\t7\t8\tA b\tC "d"\n'


def read(tmp_path, text, task):
    return list(glue_records(written(tmp_path / "file", text), task))


def test_quotes_that_never_close_are_text(tmp_path):
    assert read(tmp_path, MRPC, "mrpc") == [
        Labelled("1", ('He said "no.', "He said no"), "1"),
        Labelled("2", ("A b", 'C "d"'), "0"),
    ]


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_read_as_text_and_as_json_lines(tmp_path, task):
    *texts, label = (names[-1] for names in TASKS[task].columns)
    row = dict.fromkeys(texts, "some words") | {label: 3.25 if TASKS[task].regression else "1"}
    expected = Labelled("1", ("some words",) * len(texts), str(row[label]))
    assert read(tmp_path, "\t".join(row) + "\n" + "\t".join(map(str, row.values())) + "\n", task) == [expected]
    assert read(tmp_path, json.dumps(row) + "\n\n", task) == [expected]


@pytest.mark.parametrize("task", ["sst2", "stsb"])
def test_spellings_of_a_label_are_one_class_and_missing_ones_none(tmp_path, task):
    """A table with missing labels writes the others as 1.0, and the missing ones as null or NaN."""
    names = ["sentence"] if task == "sst2" else ["sentence1", "sentence2"]
    labels = [1, 1.0, "1", "1.0", " 1.00", None, float("nan"), "NaN", "-", -1.0, 2.5]
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


LAYER = {"words": ["the", "cat"], "xpos": ["DT", "NN"], "relations": ["det", "nsubj"]}
LAYERED = {"sentence1": "the cat", "sentence2": "the cat", "label": "x"}


@pytest.mark.parametrize(
    ("text", "task", "message"),
    [
        *(
            (json.dumps(LAYERED | {"layers": [LAYER | change] * 2}), "rte", message)
            for change, message in (
                ({"xpos": ["DT"]}, "or in number from their tags"),
                ({"words": ["a", "cat"]}, "differ from the text"),
                ({"heads": [2, 3]}, "'heads' must be a list of 2 numbers from 0 to 2, or null"),
            )
        ),
        ("a\tb\n1\t2\n", "sst2", ":1: the task sst2 needs a column sentence. Found: a, b."),
        ("sentence\tlabel\nx\t1\ty\n", "sst2", ":2: 3 columns instead of 2"),
        ("sentence1\tsentence2\tscore\na\tb\thigh\n", "stsb", ":2: the score 'high' is not a number"),
        ('{"sentence": "x", "label": true}\n', "sst2", "'label' is not text"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, text, task, message):
    with pytest.raises(AtlasError, match="file:") as caught:
        read(tmp_path, text, task)
    assert message in str(caught.value)


@pytest.fixture(scope="module")
def built(tokenizer):
    """The example of a record, cut or dropped at a bound."""
    pieces = WordPieces(tokenizer)
    return lambda item, bound, overlong: labelled_example(ExampleBuilder({"overlong": overlong}, "raw", pieces, bound), item)


def test_heads_of_a_pair_are_numbered_on_and_those_of_lost_words_are_unknown(built):
    first = Tagged(("the", "cat", "s"), ("DT", "NN", "VBD"), ("det", "nsubj", "root"), (2, 3, 0))
    second = Tagged(("cats", "s"), ("NNS", "VBD"), ("nsubj", "root"), (-1, 0))
    pair = Labelled("1", ("the cat s", "cats s"), "yes", (first, second))
    whole, cut = built(pair, 40, "truncate"), built(pair, 7, "truncate")
    assert whole.layers["heads"] == (2, 3, 0, -1, 0)
    # Four tokens are left, of the second text "cats" alone.
    assert (cut.words, cut.layers["heads"]) == (("the", "cat", "cats"), (2, -1, -1))
    assert whole.texts == cut.texts == pair.texts
    assert "heads" not in built(Labelled("1", ("the cat s",), "yes", (first._replace(heads=()),)), 40, "drop").layers


def test_overlong_pairs_lose_the_last_pieces_of_the_longer_text(built):
    pair = Labelled("1", ("the cat s cats", "the cat"), "yes")
    whole = built(pair, 40, "truncate")
    assert built(pair, len(whole.input_ids), "drop") == whole
    for bound in range(5, len(whole.input_ids)):
        assert built(pair, bound, "drop").reason == "too long"
        cut = built(pair, bound, "truncate")
        # The slow way: pieces are popped one by one from the longer text, of two alike from the second.
        sizes = [5, 2]
        while sum(sizes) > bound - 3:
            sizes[0 if sizes[0] > sizes[1] else 1] -= 1
        pieces = [segment for segment, word in zip(cut.segment_ids, cut.word, strict=True) if word >= 0]
        assert pieces == [0] * sizes[0] + [1] * sizes[1]
        assert len(cut.words) == max(cut.word) + 1
