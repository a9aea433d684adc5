"""GLUE files: both forms, quotes as text, mistakes named with their place; generated pairs."""

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_tokenizer import save_tokenizer

from attention_atlas.corpora.examples import build_shard, read_examples
from attention_atlas.corpora.glue import TASKS, Labelled, read_glue
from attention_atlas.corpora.sample.generate import generate_documents
from attention_atlas.corpora.sample.pairs import ENTAILED, NEUTRAL, OTHER, PARAPHRASE, mnli_lines, mrpc_lines
from attention_atlas.errors import AtlasError

MRPC = 'Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t5\t6\tHe said "no.\tHe said no\n0\t7\t8\tA b\tC "d"\n'


def read(tmp_path, text, task):
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    return list(read_glue(path, task))


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
    (found,) = read(tmp_path, text, task)
    assert found.texts == ("some words",) * len(names)
    assert float(found.label) == float(value)
    assert read(tmp_path, json.dumps(row) + "\n\n", task) == [found]


def test_examples_without_a_label_keep_their_place(tmp_path):
    text = "sentence1\tsentence2\tgold_label\na\tb\t-\nc\td\tneutral\n"
    assert read(tmp_path, text, "mnli") == ["1", Labelled("2", ("c", "d"), "neutral")]


@pytest.mark.parametrize(
    ("text", "task", "said"),
    [
        ("", "sst2", "the file is empty"),
        ("a\tb\n1\t2\n", "sst2", ":2: the task sst2 needs a column sentence. Found: a, b."),
        ("sentence\tlabel\nx\t1\ty\n", "sst2", ":2: 3 columns in place of 2"),
        ("sentence\tlabel\nx\t1\n \t1\n", "sst2", ":3: 'sentence' is empty"),
        ("sentence1\tsentence2\tscore\na\tb\thigh\n", "stsb", ":2: the score 'high' is no number"),
        ("sentence1\tsentence2\tscore\na\tb\tnan\n", "stsb", "'nan' is no number"),
        ('{"sentence": "x", "label": 1}\n{"sentence": \n', "sst2", ":2: no JSON object"),
        ('{"sentence": "x", "label": 1}\n[1]\n', "sst2", ":2: a JSON object a line"),
        ('{"sentence": ["x"], "label": 1}\n', "sst2", "'sentence' is empty, or no text"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, text, task, said):
    with pytest.raises(AtlasError, match="file:") as caught:
        read(tmp_path, text, task)
    assert said in str(caught.value)


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
        found = list(read_glue(path, task))
    except AtlasError:
        return
    for item in found:
        assert isinstance(item, str) or all(part.strip() for part in (*item.texts, item.label))


def test_pairs_become_examples_with_their_label(tmp_path):
    raw, out, dropped = tmp_path / "raw.tsv", tmp_path / "out.parquet", tmp_path / "dropped.tsv"
    raw.write_text("sentence1\tsentence2\tgold_label\nThe cat.\ta cats\tneutral\n" + "a\tb\t-\n" + "w " * 60 + "\tb\tneutral\n")
    entry = {"reader": "glue", "task": "mnli", "max_tokens": 24, "shard": 8}
    build_shard(entry, raw, save_tokenizer(tmp_path / "tokenizer.json"), 64, 0, out, dropped)
    (example,) = read_examples([out])
    assert example.tokens == ("[CLS]", "the", "cat", ".", "[SEP]", "a", "cat", "##s", "[SEP]")
    assert example.segment_ids == (0, 0, 0, 0, 0, 1, 1, 1, 1)
    assert example.label == "neutral"
    assert [line.split("\t")[2] for line in dropped.read_text().splitlines()[1:]] == ["no label", "too long"]


@pytest.fixture(scope="module")
def documents():
    return list(generate_documents(120, 7))


def rows(lines, tmp_path, task):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(lines), encoding="utf-8")
    return list(read_glue(path, task))


def test_generated_paraphrases(documents, tmp_path):
    found = rows(mrpc_lines(documents, 3), tmp_path, "mrpc")
    counts = Counter(item.label for item in found)
    assert set(counts) == {PARAPHRASE, OTHER}
    assert 0.5 < counts[PARAPHRASE] / len(found) < 0.8
    assert all(a != b for a, b in (item.texts for item in found))
    # No label can be read off the share of words that both have, or off the length.
    overlap = {
        label: [len(set(a.lower().split()) & set(b.lower().split())) / len(set(a.split())) for a, b in texts]
        for label, texts in ((name, [i.texts for i in found if i.label == name]) for name in counts)
    }
    assert max(overlap[OTHER]) > 0.7
    assert min(overlap[PARAPHRASE]) < 0.95


def test_generated_inferences(documents, tmp_path):
    found = rows(mnli_lines(documents, 3), tmp_path, "mnli")
    counts = Counter(item.label for item in found)
    assert len(counts) == 3
    assert min(counts.values()) > 0.2 * len(found)
    denied = {name: [" not " in item.texts[1] for item in found if item.label == name] for name in counts}
    # A denial alone does not make a contradiction.
    assert sum(denied[NEUTRAL]) > 0.15 * len(denied[NEUTRAL])
    assert not any(denied[ENTAILED])
    for item in found:
        for text in item.texts:
            assert text[0].isupper() or not text[0].isalpha()
            assert text.endswith(".")
            assert "  " not in text
            assert "(" not in text.split(" ", 1)[0]
