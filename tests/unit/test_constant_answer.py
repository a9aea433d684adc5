"""The best constant answer: by brute force over all sets of labels, and its resamples."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from edge_examples import edge_example

from attention_atlas.corpora.layers import EdgeTarget
from attention_atlas.stats.intervals import resampled_counts
from attention_atlas.studies.tenney2019.summary import resampled_f1_of_answers
from attention_atlas.studies.tenney2019.targets import constant_answer, f1_of


def examples(*labels_of_sentences, task="protoroles"):
    """Sentences with one target for each tuple of labels."""
    for record, labels_of_targets in enumerate(labels_of_sentences):
        targets = tuple(EdgeTarget((k, k + 1), None, labels, task) for k, labels in enumerate(labels_of_targets))
        yield replace(edge_example(record, task, False), edges=targets)


def answer_of(labels, task="protoroles"):
    """The answer's labels, its F1, and its counts; two sentences are one document."""
    units = [record // 2 for record in range(len(labels))]
    table = constant_answer(task, examples(*labels, task=task), units)
    (names,) = set(table["labels"])
    return names, float(f1_of(table[["true", "false", "missed"]].sum())), table


def random_labels(seed):
    """[sentence][target] labels, each with a frequency of its own; some targets have none."""
    chance = np.random.default_rng(seed)
    frequencies = {"a": 0.8, "b": 0.6, "c": 0.45, "d": 0.2, "e": 0.05}
    return [[tuple(name for name, share in frequencies.items() if chance.random() < share) for _ in range(3)] for _ in range(8)]


@pytest.mark.parametrize("seed", range(6))
def test_no_other_set_of_labels_has_a_higher_f1(seed):
    labels = random_labels(seed)
    targets = [set(names) for sentence in labels for names in sentence]

    def slow(answer):
        true = sum(len(answer & names) for names in targets)
        return 200 * true / (len(answer) * len(targets) + sum(map(len, targets)))

    every = chain.from_iterable(combinations("abcde", size) for size in range(1, 6))
    best = max((set(answer) for answer in every), key=slow)
    names, f1, table = answer_of(labels)
    assert set(names.split(", ")) == best
    assert f1 == pytest.approx(slow(best))
    assert table["true"].sum() == sum(len(best & names) for names in targets)
    assert dict(zip(table["record"], table["unit_number"], strict=True)) == {k: k // 2 for k in range(8)}


def test_only_scored_labels_count():
    """Coreference counts one label, relations all but those that are none."""
    names, f1, _ = answer_of([[("1",), ("0",), ("0",)], [("0",), ("0",)]], "coreference")
    assert (names, f1) == ("1", pytest.approx(200 * 1 / (5 + 1)))
    names, _, table = answer_of([[("Other",)], [("Other",)], [("Cause",)]], "relations")
    assert names == "Cause"
    assert table[["true", "false", "missed"]].to_numpy().tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert answer_of([[("Other",)]], "relations")[:2] == ("", 0.0)


def test_resamples_draw_the_documents_that_those_of_probes_draw():
    _, _, table = answer_of(random_labels(1))
    by_document = table.groupby("unit_number")[["true", "false", "missed"]].sum().to_numpy()
    (drawn,) = resampled_counts(len(by_document), 50, 3)
    resampled = resampled_f1_of_answers(table.sample(frac=1, random_state=0), 50, 3)
    assert resampled == pytest.approx(f1_of(drawn @ by_document))
    assert resampled.std() > 0
