"""The generated corpus: deterministic, well formed, English by hand-made examples, and without shortcuts for a probe."""

import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pandas as pd
import pytest
from sample_corpus.generate import generate_documents
from sample_corpus.pairs import OTHER, SAME, task_lines
from sample_corpus.structure import SD_RELATIONS, UD_RELATIONS
from sample_corpus.write import write_sample

from attention_atlas.corpora.conllu import read_conllu, tree_fault
from attention_atlas.corpora.glue import glue_records
from attention_atlas.corpora.stanford import to_stanford

LIBRARY = Path(__file__).resolve().parents[2] / "workflow" / "lib"


@pytest.fixture(scope="module")
def documents():
    return list(generate_documents(120, 7))


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Files of 30 documents."""
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder, documents=30, seed=7)
    return folder


@pytest.mark.long
def test_two_processes_write_the_same_bytes(tmp_path):
    code = f"from sample_corpus.write import write_sample; write_sample({str(tmp_path / 'other')!r}, 2, 7)"
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(LIBRARY)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    write_sample(tmp_path / "here", documents=2, seed=7)
    assert all((tmp_path / "other" / file.name).read_bytes() == file.read_bytes() for file in (tmp_path / "here").iterdir())
    third = list(generate_documents(3, 7))[2]
    assert next(iter(generate_documents(1, 7, start=2))) == third, "a document depends on seed and number only"


@pytest.mark.parametrize(("scheme", "labels"), [("sd", SD_RELATIONS), ("ud", UD_RELATIONS)])
def test_trees_are_trees_with_known_labels(sample, scheme, labels):
    for tree in read_conllu(sample / f"{scheme}.conllu"):
        assert tree_fault(tree) is None
        assert set(tree.relations) <= labels


def test_converted_ud_trees_are_the_generators_sd_trees(sample):
    agree, odd = 0, Counter()
    for ud, sd in zip(read_conllu(sample / "ud.conllu"), read_conllu(sample / "sd.conllu"), strict=True):
        converted = to_stanford(ud)
        for head, relation, *gold in zip(converted.heads, converted.relations, sd.heads, sd.relations, strict=True):
            # Where commas hang is a convention of each scheme's parser, and no row of any table.
            if gold[1] != "punct" and [head, relation] != gold:
                odd[gold[1], relation] += 1
            agree += gold[1] != "punct" and [head, relation] == gold
    assert odd.total() < 0.01 * agree, odd.most_common(10)


def test_neither_a_word_nor_an_offset_gives_the_relation_away(documents):
    by_form, offsets = defaultdict(Counter), defaultdict(Counter)
    for sentence in (sentence for document in documents for sentence in document.sentences):
        for position, token in enumerate(sentence.tokens, start=1):
            by_form[token.form.lower()][token.sd_relation] += 1
            offsets[token.sd_relation][token.sd_head - position] += 1
    assert sum(max(counts.values()) for counts in by_form.values()) < 0.9 * sum(map(Counter.total, by_form.values()))
    for relation in ("nsubj", "dobj", "pobj", "amod", "det", "aux", "advmod", "ccomp", "nn", "poss"):
        assert max(offsets[relation].values()) < 0.95 * offsets[relation].total()


def overlap(texts):
    """Share of the words of the first text that the second has, too."""
    first, second = (set(text.lower().strip(".?").split()) for text in texts)
    return len(first & second) / len(first)


@pytest.mark.parametrize(
    ("task", "least"), [("mrpc", 0.2), ("rte", 0.35), ("qnli", 0.35), ("qqp", 0.2), ("sst2", 0.4), ("mnli", 0.2)]
)
def test_no_label_can_be_read_off_the_length_or_the_common_words(documents, tmp_path, task, least):
    (tmp_path / "pairs.jsonl").write_text("".join(task_lines(task, documents, 3)), encoding="utf-8")
    items = pd.DataFrame(list(glue_records(tmp_path / "pairs.jsonl", task)))
    shares = items["label"].value_counts(normalize=True)
    assert (len(shares), shares.min() > least, len(items) > 80) == (3 if task == "mnli" else 2, True, True)
    lengths = items["texts"].map(lambda texts: sum(map(len, texts))).groupby(items["label"]).median()
    assert lengths.max() < 1.35 * lengths.min()
    if task in ("mrpc", "qqp"):
        common = items["texts"].map(overlap).groupby(items["label"])
        assert common.max()[OTHER] > 0.7
        assert common.min()[SAME] < 0.95
    if task == "sst2":
        words = (
            items.assign(word=items["texts"].map(lambda texts: set(texts[0].split()))).explode("word").groupby("word")["label"]
        )
        assert set(words.nunique()[words.size() >= 25]) == {2}
