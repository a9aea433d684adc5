"""The generated corpus: deterministic, well formed, English by hand-made examples, and without shortcuts for a probe."""

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import combinations, starmap
from operator import eq
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_corpus import LABELLED_TASKS
from sample_corpus.edges import edge_record
from sample_corpus.generate import generate_documents
from sample_corpus.keyphrases import keyphrase_lines
from sample_corpus.pairs import ENTAILED, NEUTRAL, OTHER, SAME, task_lines
from sample_corpus.parallel import parallel_lines
from sample_corpus.questions import squad_json
from sample_corpus.structure import SD_RELATIONS, UD_RELATIONS
from sample_corpus.write import write_sample
from sklearn.metrics import f1_score

from attention_atlas.corpora.conllu import read_conllu, tree_fault
from attention_atlas.corpora.glue import glue_records
from attention_atlas.corpora.keyphrases import OUTSIDE, keyphrases_records
from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.corpora.marked_text import gap_records
from attention_atlas.corpora.questions import squad_records
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


def test_brackets_mentions_and_paragraphs_are_those_of_the_words(documents):
    for document in documents:
        for paragraph, line in zip(document.paragraphs, document.text.split("\n"), strict=True):
            tokens = [token for sentence in paragraph for token in sentence.tokens]
            assert "".join(token.form + " " * token.space_after for token in tokens).strip() == line
        for sentence in document.sentences:
            leaves = re.findall(r"\([^\s()]+ ([^\s()]+)\)", sentence.brackets)
            assert [{"-LRB-": "(", "-RRB-": ")"}.get(leaf, leaf) for leaf in leaves] == [t.form for t in sentence.tokens]
        for mention in document.mentions:
            assert 0 <= mention.start <= mention.head < mention.stop <= len(document.sentences[mention.sentence].tokens)


def test_edge_targets_are_those_of_the_layers(documents):
    counts = defaultdict(Counter)
    for document in documents[:60]:
        for number, sentence in enumerate(document.sentences):
            by_task = defaultdict(list)
            for target in edge_record(document, number, sentence).targets:
                by_task[target.task].append((target.span1, target.span2, *target.labels))
                counts[target.task].update(target.labels)
            tokens = list(enumerate(sentence.tokens))
            assert by_task["pos"] == [((k, k + 1), None, token.xpos) for k, token in tokens]
            heads = [token.ud_head - 1 if token.ud_head else k for k, token in tokens]
            arcs = [((k, k + 1), (heads[k], heads[k] + 1), token.ud_relation) for k, token in tokens]
            assert by_task["dependencies"] == arcs
            assert by_task["entities"] == [((e.start, e.stop), None, e.type) for e in sentence.entities]
            chained = [m.entity for m in document.mentions if m.sentence == number and not m.singleton]
            assert [target[2] for target in by_task["coreference"]].count("1") == sum(starmap(eq, combinations(chained, 2)))
    assert all(len(counts[task]) > 1 and counts[task].total() > 100 for task in EDGE_TASKS)


def test_neither_a_word_nor_an_offset_gives_the_relation_away(documents):
    by_form, offsets = defaultdict(Counter), defaultdict(Counter)
    for sentence in (sentence for document in documents for sentence in document.sentences):
        for position, token in enumerate(sentence.tokens, start=1):
            by_form[token.form.lower()][token.sd_relation] += 1
            offsets[token.sd_relation][token.sd_head - position] += 1
    assert sum(max(counts.values()) for counts in by_form.values()) < 0.9 * sum(map(Counter.total, by_form.values()))
    for relation in ("nsubj", "dobj", "pobj", "amod", "det", "aux", "advmod", "ccomp", "nn", "poss"):
        assert max(offsets[relation].values()) < 0.95 * offsets[relation].total()


def rows(documents, folder, task):
    path = folder / "pairs.jsonl"
    path.write_text("".join(task_lines(task, documents, 3)), encoding="utf-8")
    return list(glue_records(path, task))


def overlap(texts):
    """Share of the words of the first text that the second has, too."""
    first, second = (set(text.lower().strip(".?").split()) for text in texts)
    return len(first & second) / len(first)


@pytest.mark.parametrize(
    ("task", "least"), [("mrpc", 0.2), ("rte", 0.35), ("qnli", 0.35), ("qqp", 0.2), ("sst2", 0.4), ("mnli", 0.2)]
)
def test_no_label_can_be_read_off_the_length_or_the_common_words(documents, tmp_path, task, least):
    items = pd.DataFrame(rows(documents, tmp_path, task))
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


def test_denials_make_no_contradiction_and_similarity_falls_with_what_is_changed(documents, tmp_path):
    items = pd.DataFrame(rows(documents, tmp_path, "mnli"))
    denied = items["texts"].map(lambda texts: " not " in texts[1]).groupby(items["label"]).mean()
    assert denied[ENTAILED] == 0 < 0.15 < denied[NEUTRAL]
    items = pd.DataFrame(rows(documents, tmp_path, "stsb"))
    common = items["texts"].map(overlap).groupby(items["label"].astype(float).round()).mean()
    assert common[0] < 0.3 < common[3] < common[5]


@pytest.mark.parametrize("task", sorted(LABELLED_TASKS))
def test_texts_of_tasks_have_tags_and_every_subject_its_predicate(documents, tmp_path, task):
    predicates = ("root", "conj", "advcl", "rcmod", "ccomp", "xcomp", "parataxis", "dep", "pcomp", "acomp")
    subjects = 0
    for tagged in (tagged for item in rows(documents[:40], tmp_path, task) for tagged in item.tagged):
        assert all(tagged.xpos)
        for place, (relation, head) in enumerate(zip(tagged.relations, tagged.heads, strict=True), start=1):
            assert relation != "root" or head == 0
            if relation == "nsubj":
                subjects += 1
                assert 0 < head != place
                assert tagged.relations[head - 1] in predicates, (tagged.words, place)
    assert subjects > 50


def test_no_single_word_and_no_count_gives_the_keyphrases_away(documents, tmp_path):
    path = tmp_path / "keyphrases.jsonl"
    path.write_text("".join(keyphrase_lines(documents)), encoding="utf-8")
    read = list(keyphrases_records(path))
    known, by_word, by_count, gold = defaultdict(Counter), [], [], []
    for number, document in enumerate(read):
        counts = Counter(word.lower() for word in document.words)
        for word, tag in zip(map(str.lower, document.words), document.tags, strict=True):
            if number < len(read) // 2:
                known[word][tag != OUTSIDE] += 1
                continue
            gold.append(tag != OUTSIDE)
            by_word.append(known[word][True] > known[word][False])
            by_count.append(counts[word] > 1 and len(word) > 3)
    assert 0.2 < f1_score(gold, by_word) < 0.75
    assert f1_score(gold, by_count) < 0.75


def test_no_place_gives_an_answer_or_an_antecedent_away(documents, sample, tmp_path):
    path = tmp_path / "questions.json"
    path.write_text(squad_json(documents[:60], 5))
    answers = [question.answers[0] for question in squad_records(path)]
    assert sum(answer.start == 0 for answer in answers) < 0.35 * len(answers)
    assert sum(" " not in answer.text for answer in answers) < 0.4 * len(answers)
    first = [passage.mentions[1].cluster == "pronoun" for passage in gap_records(sample / "gap.tsv")]
    assert 0.15 < np.mean(first) < 0.9


def test_french_elides_and_contracts():
    text = "\n".join(json.loads(line)["fr"] for line in parallel_lines(1500, 1))
    vowel = "[aeiouyhâàéèêîôûœAEIOUYHÂÀÉÈÊÎÔÛŒ]"
    assert not re.findall(rf"\b(?:le|la|de|ne|que|ma|ce) {vowel}|\b(?:de|à) les?\b|\bde des?\b", text)
