"""The best constant answer: by brute force over all sets of labels, and its resamples."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from edge_examples import edge_example

from attention_atlas.corpora.layers import EdgeTarget
from attention_atlas.errors import AtlasError
from attention_atlas.stats.bootstrap import resampled_counts
from attention_atlas.studies.tenney2019.constant_answer import constant_answer
from attention_atlas.studies.tenney2019.names import CONTROL_TASK, EARLY
from attention_atlas.studies.tenney2019.resampling import resampled_f1_of_answers
from attention_atlas.studies.tenney2019.scores import f1_of


def examples(*labels_of_sentences, task="protoroles"):
    """Sentences with one target for each tuple of labels."""
    for record, labels_of_targets in enumerate(labels_of_sentences):
        targets = tuple(EdgeTarget((k, k + 1), None, labels, task) for k, labels in enumerate(labels_of_targets))
        yield replace(edge_example(record, task, False), edges=targets)


def counts_of(*labels, condition=EARLY):
    """Answers of a probe that misses all labels, of which a sentence has these numbers; two sentences are one document."""
    rows = [
        {"condition": condition, "record": k, "unit_number": k // 2, "true": 0, "false": 0, "missed": n}
        for k, n in enumerate(labels)
    ]
    return pd.DataFrame(rows)


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
    counts = counts_of(*(sum(map(len, sentence)) for sentence in labels))
    answer = constant_answer("protoroles", examples(*labels), counts)
    assert set(answer.labels) == best
    assert answer.f1 == pytest.approx(slow(best))
    assert answer.counts["true"].sum() == sum(len(best & names) for names in targets)
    assert dict(zip(answer.counts["record"], answer.counts["unit_number"], strict=True)) == {k: k // 2 for k in range(8)}


def test_only_scored_labels_count():
    """Coreference counts one label, relations all but those that are none."""
    coreference = [[("1",), ("0",), ("0",)], [("0",), ("0",)]]
    answer = constant_answer("coreference", examples(*coreference, task="coreference"), counts_of(1, 0))
    assert answer.labels == ("1",)
    assert answer.f1 == pytest.approx(200 * 1 / (5 + 1))
    relations = [[("Other",)], [("Other",)], [("Cause",)]]
    answer = constant_answer("relations", examples(*relations, task="relations"), counts_of(0, 0, 1))
    assert answer.labels == ("Cause",)
    assert answer.counts[["true", "false", "missed"]].to_numpy().tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
    none = constant_answer("relations", examples([("Other",)], task="relations"), counts_of(0))
    assert (none.labels, none.f1) == ((), 0.0)


def test_other_examples_than_those_of_the_probes_are_an_error():
    labels = random_labels(0)
    right = [sum(map(len, sentence)) for sentence in labels]
    with pytest.raises(AtlasError, match="protoroles: the examples do not have the labels"):
        constant_answer("protoroles", examples(*labels), counts_of(right[0] + 1, *right[1:]))
    with pytest.raises(AtlasError, match="protoroles: the examples do not have the labels"):
        constant_answer("protoroles", examples(*labels[:-1]), counts_of(*right))
    # Counts of a control are of other labels.
    both = pd.concat([counts_of(*right), counts_of(*(n + 1 for n in right), condition=CONTROL_TASK)])
    assert len(constant_answer("protoroles", examples(*labels), both).counts) == len(labels)


def test_resamples_draw_the_documents_that_those_of_probes_draw():
    labels = random_labels(1)
    answer = constant_answer("protoroles", examples(*labels), counts_of(*(sum(map(len, sentence)) for sentence in labels)))
    by_document = answer.counts.groupby("unit_number")[["true", "false", "missed"]].sum().to_numpy()
    (drawn,) = resampled_counts(len(by_document), 50, 3)
    resampled = resampled_f1_of_answers(answer.counts.sample(frac=1, random_state=0), 50, 3)
    assert resampled == pytest.approx(f1_of(drawn @ by_document))
    assert resampled.std() > 0
