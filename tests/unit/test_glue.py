"""GLUE files: both forms, quotes as text, mistakes named with their place; generated pairs."""

import json
from collections import Counter

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_corpus import LABELLED_TASKS
from sample_corpus.generate import generate_documents
from sample_corpus.pairs import ENTAILED, NEUTRAL, NOT_ENTAILED, OTHER, SAME, task_lines
from sample_corpus.write import write_sample
from small_entries import FILE_ORDER
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import ExampleBuilder, build_shard, read_examples
from attention_atlas.corpora.glue import TASKS, Labelled, Tagged, Task, glue_records, labelled_example
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


def test_examples_without_a_label_keep_their_place(tmp_path):
    text = "sentence1\tsentence2\tgold_label\na\tb\t-\nc\td\tneutral\n"
    assert read(tmp_path, text, "mnli") == [Dropped("1", "no label"), Labelled("2", ("c", "d"), "neutral")]


@pytest.mark.parametrize(("task", "missing"), [("rte", -1), ("stsb", -1.0), ("mnli", "-1")])
def test_rows_of_the_hubs_test_sets_have_no_label(tmp_path, task, missing):
    first, label = ("premise", "label") if task == "mnli" else ("sentence1", "label")
    second = "hypothesis" if task == "mnli" else "sentence2"
    row = {first: "a", second: "b", label: missing}
    assert read(tmp_path, json.dumps(row) + "\n", task) == [Dropped("1", "no label")]


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
    (tmp_path / "qqp.tsv").write_text(QQP)
    save_tokenizer(tmp_path / "tokenizer.json")
    entry = {"reader": "glue", "task": "qqp", "overlong": "drop", "max_tokens": 40, "shard": 10} | FILE_ORDER
    outs = (tmp_path / "examples.parquet", tmp_path / "dropped.tsv")
    build_shard(entry, tmp_path / "qqp.tsv", tmp_path / "tokenizer.json", 40, 0, *outs)
    dropped = pd.read_csv(outs[1], sep="\t", keep_default_na=False)
    assert dropped[["record", "reason", "detail"]].to_numpy().tolist() == [
        [1, "empty text", ""],
        [2, "incomplete row", "3 of 6 columns"],
    ]
    assert [example.record for example in read_examples([outs[0]])] == [0, 3]


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
        ('{"sentence": "x", "label": 1}\n[1]\n', "sst2", ":2: expected one JSON object per line"),
        ('{"sentence": ["x"], "label": 1}\n', "sst2", "'sentence' is not text"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, text, task, message):
    with pytest.raises(AtlasError, match="file:") as caught:
        read(tmp_path, text, task)
    assert message in str(caught.value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), task=st.sampled_from(["mrpc", "stsb", "mnli"]))
def test_damaged_files_raise_nothing_else(tmp_path, data, task):
    text = MRPC if task == "mrpc" else "sentence1\tsentence2\tscore\tgold_label\na b\tc\t2.5\tneutral\nd\te\t1\t-\n"
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(st.text(max_size=4)) + text[place + data.draw(st.integers(0, 5)) :]
    path = tmp_path / "damaged"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        items = list(glue_records(path, task))
    except AtlasError:
        return
    for item in items:
        assert isinstance(item, Dropped) or all(part.strip() for part in (*item.texts, item.label))


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


@pytest.fixture(scope="module")
def documents():
    return list(generate_documents(120, 7))


def rows(documents, tmp_path, task):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(task_lines(task, documents, 3)), encoding="utf-8")
    return list(glue_records(path, task))


def overlap(item):
    """Share of the words of the first text that the second has, too."""
    first, second = (set(text.lower().strip(".?").split()) for text in item.texts)
    return len(first & second) / len(first)


def test_generated_paraphrases(documents, tmp_path):
    pairs = rows(documents, tmp_path, "mrpc")
    counts = Counter(item.label for item in pairs)
    assert set(counts) == {SAME, OTHER}
    assert 0.5 < counts[SAME] / len(pairs) < 0.8
    assert all(a != b for a, b in (item.texts for item in pairs))
    # No label can be read off the share of words that both have, or off the length.
    assert max(overlap(item) for item in pairs if item.label == OTHER) > 0.7
    assert min(overlap(item) for item in pairs if item.label == SAME) < 0.95


def test_generated_inferences(documents, tmp_path):
    pairs = rows(documents, tmp_path, "mnli")
    counts = Counter(item.label for item in pairs)
    assert len(counts) == 3
    assert min(counts.values()) > 0.2 * len(pairs)
    denied = {name: [" not " in item.texts[1] for item in pairs if item.label == name] for name in counts}
    # A denial alone does not make a contradiction.
    assert sum(denied[NEUTRAL]) > 0.15 * len(denied[NEUTRAL])
    assert not any(denied[ENTAILED])
    for item in pairs:
        for text in item.texts:
            assert text[0].isupper() or not text[0].isalpha()
            assert text.endswith(".")
            assert "  " not in text
            assert "(" not in text.split(" ", 1)[0]


@pytest.mark.parametrize(
    ("task", "labels", "least"),
    [
        ("rte", {ENTAILED, NOT_ENTAILED}, 0.35),
        ("qnli", {ENTAILED, NOT_ENTAILED}, 0.35),
        ("qqp", {SAME, OTHER}, 0.2),
        ("sst2", {SAME, OTHER}, 0.4),
    ],
)
def test_generated_classes(documents, tmp_path, task, labels, least):
    items = rows(documents, tmp_path, task)
    counts = Counter(item.label for item in items)
    assert set(counts) == labels
    assert min(counts.values()) > least * len(items)
    assert len(items) > 150
    # No length gives the label away.
    lengths = {name: sorted(sum(map(len, item.texts)) for item in items if item.label == name) for name in labels}
    middle = [lengths_of_label[len(lengths_of_label) // 2] for lengths_of_label in lengths.values()]
    assert max(middle) < 1.35 * min(middle)
    if task == "sst2":
        # Nor does any single word.
        for word in {w for item in items for w in item.tagged[0].words}:
            labels_of_word = Counter(item.label for item in items if word in item.tagged[0].words)
            assert len(labels_of_word) == 2 or sum(labels_of_word.values()) < 25, word
    if task == "qqp":
        assert max(overlap(item) for item in items if item.label == OTHER) > 0.7
        assert all(text.endswith("?") for item in items for text in item.texts)


def test_generated_similarity_falls_with_what_is_changed(documents, tmp_path):
    pairs = rows(documents, tmp_path, "stsb")
    scores = [float(item.label) for item in pairs]
    assert min(scores) == 0
    assert max(scores) == 5
    level = {k: [overlap(item) for item in pairs if round(float(item.label)) == k] for k in range(6)}
    means = {k: sum(overlaps) / len(overlaps) for k, overlaps in level.items()}
    assert means[0] < 0.3 < means[3] < means[5]
    assert min(len(overlaps) for overlaps in level.values()) > 10


@pytest.mark.parametrize("task", sorted(LABELLED_TASKS))
def test_every_word_of_the_generated_tasks_has_its_tags(documents, tmp_path, task):
    items = rows(documents[:40], tmp_path, task)
    nouns = [any(tag.startswith("NN") for tag in tagged.xpos) for item in items for tagged in item.tagged]
    assert sum(nouns) > 0.9 * len(nouns)
    for item in items:
        assert len(item.tagged) == len(item.texts)
        for tagged, text in zip(item.tagged, item.texts, strict=True):
            assert "".join(tagged.words) == text.replace(" ", "")
            assert all(tagged.xpos)
            assert all(tagged.relations)
            assert len(tagged.heads) == len(tagged.words)


@pytest.mark.parametrize("task", sorted(LABELLED_TASKS))
def test_every_subject_of_the_generated_tasks_has_its_predicate(documents, tmp_path, task):
    """It comes after its subject but in questions, bears no relation of a modifier, and agrees in person where it can."""
    subjects = 0
    for item in rows(documents[:40], tmp_path, task):
        for tagged in item.tagged:
            assert [head for head, name in zip(tagged.heads, tagged.relations, strict=True) if name == "root"] == [0] * (
                tagged.relations.count("root")
            )
            for place, (relation, head) in enumerate(zip(tagged.relations, tagged.heads, strict=True), start=1):
                if relation != "nsubj":
                    continue
                subjects += 1
                assert head > 0, (tagged.words, place)
                assert head != place
                predicate = tagged.relations[head - 1]
                allowed = ("root", "conj", "advcl", "rcmod", "ccomp", "xcomp", "parataxis", "dep", "pcomp", "acomp")
                assert predicate in allowed, (tagged.words, tagged.words[place - 1], tagged.words[head - 1], predicate)
                between = tagged.relations[place : head - 1]
                assert "root" not in between, (tagged.words, tagged.words[place - 1], tagged.words[head - 1])
    assert subjects > 50


def test_a_task_may_be_read_that_the_generator_does_not_make(tmp_path, monkeypatch):
    cola = Task(("sentence",), (), ("label",))
    monkeypatch.setitem(TASKS, "cola", cola)
    write_sample(tmp_path / "sample", documents=1, seed=3, train_documents=1)
    made = {path.stem.removesuffix("-train") for path in (tmp_path / "sample").glob("*-train.jsonl")}
    assert set(LABELLED_TASKS) < made
    assert "cola" not in made
    (tmp_path / "cola.jsonl").write_text('{"sentence": "Cats sleep.", "label": 1}\n', encoding="utf-8")
    assert list(glue_records(tmp_path / "cola.jsonl", "cola")) == [Labelled("1", ("Cats sleep.",), "1")]


def test_the_same_seed_gives_the_same_tasks(documents):
    for task in LABELLED_TASKS:
        assert list(task_lines(task, documents[:5], 3)) == list(task_lines(task, documents[:5], 3))


@pytest.mark.parametrize(
    ("layers", "problem"),
    [
        ("x", "must be a list with an entry for each of 2 texts"),
        ([{"words": ["a"], "xpos": ["DT"], "relations": ["det"]}], "must be a list with an entry for each of 2 texts"),
        ([{"words": ["the", "cat"], "xpos": ["DT"], "relations": ["det", "nsubj"]}] * 2, "or in number from their tags"),
        ([{"words": ["a", "cat"], "xpos": ["DT", "NN"], "relations": ["det", "nsubj"]}] * 2, "differ from the text"),
        ([{"words": ["the", "cat"], "xpos": ["DT", 3], "relations": ["det", "nsubj"]}] * 2, "needs the lists words, xpos"),
        ([{"words": ["the", "cat"]}] * 2, "needs the lists words, xpos and relations"),
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
