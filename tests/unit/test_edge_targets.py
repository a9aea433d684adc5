"""Targets of edge probes as arrays, the hidden states that a job stores for them, and the inputs of its rules."""

from dataclasses import replace

import numpy as np
import pytest
from edge_examples import LABELS, edge_example, word_task

from attention_atlas.corpora.layers import EdgeTarget
from attention_atlas.errors import AtlasError
from attention_atlas.studies.tenney2019.probing import pieces_of_targets
from attention_atlas.studies.tenney2019.targets import control_labels, piece_spans, probed_cases, task_targets


def test_spans_of_pieces_hold_the_pieces_of_their_words_and_no_others():
    assert piece_spans(edge_example(0, "pos", False)) == [(1, 2), (2, 4), (4, 5), (5, 7), (7, 8), (8, 10)]
    task = word_task("roles", pairs=True)
    assert task.labels == LABELS
    for sentence in task.training:
        for target, first, second in zip(sentence.targets, sentence.first, sentence.second, strict=True):
            for span, pieces in ((target.span1, first), (target.span2, second)):
                slow = [piece for piece, word in enumerate(sentence.example.word) if span[0] <= word < span[1]]
                assert list(range(*pieces)) == slow
        assert sentence.truth.tolist() == [[label in target.labels for label in LABELS] for target in sentence.targets]


def one(start, stop, label="A", second=None):
    return EdgeTarget((start, stop), second, (label,), "pos")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"word": (-1, 0, 1, 1, 3, 3, 4, 5, 5, -1)}, r"e0: word 3 \('\w+'\) has no contiguous word pieces"),
        # Words in another order than their pieces: a span over both would hold others' pieces.
        ({"word": (-1, 1, 0, 2, 3, 3, 4, 5, 5, -1), "edges": (one(0, 3),)}, r"span \[0, 3\] is not one of contig"),
        ({"edges": (one(5, 7),)}, r"e0: the span \[5, 7\] is not one of contiguous words of its 6"),
        ({"edges": (one(0, 1, second=(1, 2)), one(1, 2))}, "e0: some targets of a task have one span, others two"),
        ({"edges": None}, "e0 has no targets: use a corpus with reader edges"),
        ({"edges": ()}, "there is no target of the task pos to train on"),
    ],
)
def test_misaligned_spans_are_refused(change, message):
    whole = edge_example(0, "pos", False)
    with pytest.raises(AtlasError, match=message):
        task_targets("pos", [replace(whole, **change)], [whole])


@pytest.mark.parametrize(
    ("task", "labels", "scored"),
    [
        ("coreference", ["0", "1"], ["1"]),
        ("roles", ["ARG0", "ARGM-TMP", "C-ARG1", "R-ARG0", "V"], ["ARG0", "ARGM-TMP"]),
        ("relations", ["Cause-Effect(e1,e2)", "Other"], ["Cause-Effect(e1,e2)"]),
    ],
)
def test_some_labels_are_learnt_but_not_scored(task, labels, scored):
    renamed = replace(word_task(), task=task, labels=tuple(labels))
    assert [label for label, counts in zip(labels, renamed.scored, strict=True) if counts] == scored


def test_a_control_task_gives_every_word_one_label_as_often_as_the_task():
    task, by_word = word_task(training=100), {}
    for sentence in (*task.training, *task.development):
        for target, row in zip(sentence.targets, sentence.control_task, strict=True):
            assert row.sum() == 1
            word = sentence.example.words[target.span1[1] - 1]
            assert by_word.setdefault(word, int(row.argmax())) == int(row.argmax())
    example = edge_example(0, "pos", False)
    labels_of = control_labels("pos", [one(0, 1, "rare"), *[one(0, 1, "frequent")] * 3], 0)
    drawn = [labels_of(replace(example, words=(f"w{k}",)), one(0, 1)) for k in range(400)]
    assert drawn.count(("frequent",)) == pytest.approx(300, abs=30)


def test_shuffled_labels_are_those_of_the_training_targets_in_another_order():
    task = word_task(training=60, most=4)
    truth, shuffled = (np.concatenate([getattr(s, name) for s in task.training]) for name in ("truth", "shuffled_labels"))
    assert shuffled.sum(0).tolist() == truth.sum(0).tolist(), "each label as often"
    by_chance = ((truth.sum(0) / len(truth)) ** 2).sum()
    assert (shuffled == truth).all(1).mean() == pytest.approx(by_chance, abs=0.1)
    assert all((sentence.shuffled_labels == sentence.truth).all() for sentence in task.development), "the right labels"
    other = word_task(training=60, most=4, seed=1)
    assert any((a.shuffled_labels != b.shuffled_labels).any() for a, b in zip(task.training, other.training, strict=True))


def test_a_sentence_may_give_some_of_its_targets_and_cases_those_whose_labels_are_known():
    few, whole = word_task(most=2), word_task()
    assert {len(sentence.targets) for sentence in few.training} == {2}
    assert {len(sentence.targets) for sentence in few.development} == {6}
    assert all(set(a.targets) <= set(b.targets) for a, b in zip(few.training, whole.training, strict=True))
    example = edge_example(99, "pos", False)
    strange = replace(example, edges=(*example.edges[:2], one(0, 1, "Z")))
    (sentence,) = probed_cases(whole, [strange])
    assert sentence.targets == example.edges[:2]


def test_the_arguments_of_one_predicate_are_a_record():
    """Three targets of two predicates, not side by side."""
    roles = [((1, 2), (0, 1), "A"), ((4, 5), (2, 3), "B"), ((1, 2), (2, 4), "C")]
    edges = tuple(EdgeTarget(a, b, (label,), "roles") for a, b, label in roles)
    sentence = replace(edge_example(0, "roles", True), edges=edges)
    other = replace(sentence, edges=tuple(replace(target, task="dependencies") for target in edges))
    task = task_targets("roles", [sentence], [sentence, replace(sentence, record=1)])
    frames = [[(t.span1, t.labels[0]) for t in record.targets] for record in task.development]
    assert frames == 2 * [[((1, 2), "A"), ((1, 2), "C")], [((4, 5), "B")]]
    assert [len(record.targets) for record in task_targets("dependencies", [other], [other]).training] == [3]
    # At most so many targets of a sentence, whatever their predicates.
    assert sum(len(record.targets) for record in task_targets("roles", [sentence], [sentence], most=2).training) == 2


def test_only_pieces_of_the_targets_of_a_task_are_wanted():
    example = edge_example(0, "entities", False)
    example = replace(example, edges=(*example.edges[1:3], replace(example.edges[4], task="pos")))
    # Words 1 and 2 have the pieces 2, 3 and 4; word 4 has the piece 7.
    assert [pieces_of_targets(example, task) for task in ("entities", "pos", "roles")] == [[2, 3, 4], [7], []]
