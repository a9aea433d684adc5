"""Targets as tensors, training of probes, and counts, against slow and obvious ways."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from edge_examples import LABELS, LAYERS, TELLING, edge_example, telling_states
from hypothesis import given
from hypothesis import strategies as st
from pretend_gpu import PretendGpu
from sklearn.metrics import f1_score

from attention_atlas.corpora.layers import EdgeTarget
from attention_atlas.errors import AtlasError
from attention_atlas.models import devices
from attention_atlas.studies.tenney2019 import probes as probes_module
from attention_atlas.studies.tenney2019.probes import (
    EdgeProbes,
    ProbeKey,
    _EarlyStopping,
    ahead,
    answers,
    count_answers,
    optimiser,
    train_probes,
)
from attention_atlas.studies.tenney2019.targets import (
    CONTROL_TASK,
    SHUFFLED_LABELS,
    Recipe,
    control_labels,
    f1_of,
    piece_spans,
    probed_cases,
    task_targets,
)

RECIPE = Recipe(
    batch=8,
    learning_rate=0.003,
    mixing_rate_factor=20,
    evaluation_interval=10,
    max_steps=120,
    equal_steps=30,
    halve_after=2,
    patience=4,
)


def word_task(task="pos", pairs=False, training=40, development=12, **settings):
    examples = [edge_example(record, task, pairs) for record in range(training + development)]
    return task_targets(task, examples[:training], examples[training:], **settings)


def test_spans_of_pieces_hold_the_pieces_of_their_words_and_no_others():
    task = word_task("roles", pairs=True)
    assert task.labels == LABELS
    for sentence in task.training:
        for target, first, second in zip(sentence.targets, sentence.first, sentence.second, strict=True):
            for span, pieces in ((target.span1, first), (target.span2, second)):
                slow = [piece for piece, word in enumerate(sentence.example.word) if span[0] <= word < span[1]]
                assert list(range(*pieces)) == slow
        assert [LABELS[row.argmax()] for row in sentence.truth] == [t.labels[0] for t in sentence.targets]
        assert (sentence.truth.sum(1) == 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"word": (-1, 0, 1, 1, 3, 3, 4, 5, 5, -1)}, r"e0: word 3 \('\w+'\) has no contiguous word pieces"),
        ({"word": (-1, 0, 1, 2, 1, 3, 3, 4, 5, 5, -1)}, r"e0: word 2 \('\w+'\) has no contiguous word pieces"),
        ({"word": (-1, 1, 0, 2, 3, 3, 4, 5, 5, -1)}, None),
        ({"edges": (EdgeTarget((5, 7), None, ("A",), "pos"),)}, r"e0: the span \[5, 7\] does not lie within its 6 words"),
        ({"edges": None}, "e0 has no targets: use a corpus with reader edges"),
        ({"edges": ()}, "there is no target of the task pos to train on"),
    ],
)
def test_misaligned_spans_are_refused(change, message):
    whole = edge_example(0, "pos", False)
    broken = replace(whole, **change)
    if message is None:
        # Words in another order than their pieces: a span over both would hold others' pieces.
        broken = replace(broken, edges=(EdgeTarget((0, 2), None, ("A",), "pos"),))
        message = "the word pieces 2 to 1 are not those of the words|are not those of the words"
    with pytest.raises(AtlasError, match=message):
        task_targets("pos", [broken], [whole])


def test_pieces_of_words_lie_side_by_side():
    example = edge_example(0, "pos", False)
    assert piece_spans(example) == [(1, 2), (2, 4), (4, 5), (5, 7), (7, 8), (8, 10)]


@pytest.mark.parametrize(
    ("task", "labels", "scored"),
    [
        ("coreference", ["0", "1"], ["1"]),
        ("roles", ["ARG0", "ARGM-TMP", "C-ARG1", "R-ARG0", "V"], ["ARG0", "ARGM-TMP"]),
        ("relations", ["Cause-Effect(e1,e2)", "Other", "no_relation"], ["Cause-Effect(e1,e2)"]),
        ("pos", ["Other", "R-X"], ["Other", "R-X"]),
    ],
)
def test_some_labels_are_learnt_but_not_scored(task, labels, scored):
    renamed = replace(word_task(), task=task, labels=tuple(labels))
    assert [label for label, counts in zip(labels, renamed.scored, strict=True) if counts] == scored


def test_a_control_task_gives_every_word_one_label_as_often_as_the_task():
    task = word_task(training=200)
    by_word = {}
    for sentence in (*task.training, *task.development):
        for target, row in zip(sentence.targets, sentence.control_task, strict=True):
            assert row.sum() == 1
            word = sentence.example.words[target.span1[1] - 1]
            assert by_word.setdefault(word, int(row.argmax())) == int(row.argmax())
    assert len(set(by_word.values())) > 1
    assert word_task(training=200, seed=1).training[0].control_task.tolist() != task.training[0].control_task.tolist()
    one = EdgeTarget((0, 1), None, ("only",), "pos")
    assert control_labels("pos", [one], 0)(edge_example(0, "pos", False), one) == ("only",)


def test_shuffled_labels_are_those_of_the_training_targets_in_another_order():
    task = word_task(training=60, most=4)
    truth, shuffled = (np.concatenate([getattr(s, name) for s in task.training]) for name in ("truth", "shuffled_labels"))
    assert shuffled.sum(0).tolist() == truth.sum(0).tolist(), "each label as often"
    assert (shuffled.sum(1) == 1).all()
    agreement = (shuffled == truth).all(1).mean()
    by_chance = ((truth.sum(0) / len(truth)) ** 2).sum()
    assert agreement == pytest.approx(by_chance, abs=0.1)
    assert all((sentence.shuffled_labels == sentence.truth).all() for sentence in task.development), (
        "evaluated on the real labels"
    )
    again, other = word_task(training=60, most=4), word_task(training=60, most=4, seed=1)
    assert all((a.shuffled_labels == b.shuffled_labels).all() for a, b in zip(task.training, again.training, strict=True))
    assert any((a.shuffled_labels != b.shuffled_labels).any() for a, b in zip(task.training, other.training, strict=True))


def test_a_probe_of_shuffled_labels_finds_nothing():
    task = word_task("pos")
    keys = [ProbeKey(LAYERS, 1), ProbeKey(LAYERS, 1, labels=SHUFFLED_LABELS)]
    trained = train_probes(task, telling_states, keys, RECIPE)
    counts = count_answers(trained.probes, task.development, telling_states, torch.from_numpy(task.scored), 5)
    f1, shuffled_f1 = f1_of(counts.sum(1))
    assert f1 > 90
    assert shuffled_f1 < 55


def test_a_sentence_may_give_some_of_its_targets_alone():
    few, all_ = word_task(most=2), word_task()
    assert {len(sentence.targets) for sentence in few.training} == {2}
    assert {len(sentence.targets) for sentence in few.development} == {6}
    assert all(set(a.targets) <= set(b.targets) for a, b in zip(few.training, all_.training, strict=True))


def test_the_arguments_of_one_predicate_are_a_record():
    """Three targets of two predicates, not side by side."""
    example = edge_example(0, "roles", True)
    roles = [((1, 2), (0, 1), "A"), ((4, 5), (2, 3), "B"), ((1, 2), (2, 4), "C")]
    sentence = replace(example, edges=tuple(EdgeTarget(a, b, (label,), "roles") for a, b, label in roles))
    other = replace(example, edges=tuple(replace(target, task="dependencies") for target in sentence.edges))
    task = task_targets("roles", [sentence], [sentence, replace(sentence, record=1)])
    frames = [[(t.span1, t.labels[0]) for t in record.targets] for record in task.development]
    assert frames == 2 * [[((1, 2), "A"), ((1, 2), "C")], [((4, 5), "B")]]
    assert [record.example.record for record in task.development] == [0, 0, 1, 1]
    assert [len(record.targets) for record in task_targets("dependencies", [other], [other]).training] == [3]
    assert [len(record.targets) for record in probed_cases(task, [sentence])] == [2, 1]
    # At most so many targets of a sentence, whatever their predicates.
    assert sum(len(record.targets) for record in task_targets("roles", [sentence], [sentence], most=2).training) == 2


def test_other_sentences_keep_the_targets_whose_labels_are_known():
    task = word_task()
    example = edge_example(99, "pos", False)
    strange = replace(example, edges=(*example.edges[:2], EdgeTarget((0, 1), None, ("Z",), "pos")))
    (sentence,) = probed_cases(task, [strange, replace(example, edges=strange.edges[2:])])
    assert sentence.targets == example.edges[:2]


KEYS = [ProbeKey(top, 1) for top in range(LAYERS + 1)]
KEYS += [ProbeKey(LAYERS, 1, equal=True), ProbeKey(LAYERS, 1, labels=CONTROL_TASK)]


@pytest.mark.parametrize("pairs", [False, True])
def test_probes_find_a_label_from_the_layer_that_tells_it(pairs):
    task = word_task("pos", pairs)
    trained = train_probes(task, telling_states, KEYS, RECIPE)
    counts = count_answers(trained.probes, task.development, telling_states, torch.from_numpy(task.scored), 5)
    f1 = f1_of(counts.sum(1))
    assert f1[TELLING] > 90
    assert f1[LAYERS] > 90
    assert f1[TELLING - 1] < 70
    weights = trained.probes.weights.detach().numpy()
    assert weights[LAYERS, TELLING : LAYERS + 1].sum() > 0.55, "the mix moves to where the label is"
    assert (weights[:, -1] == 0).all(), "the words alone are for those that ask for them"
    equal = len(KEYS) - 2
    assert (trained.steps[equal], trained.best_steps[equal]) == (RECIPE.equal_steps, RECIPE.equal_steps)
    assert (trained.best_steps[: LAYERS + 1] % RECIPE.evaluation_interval == 0).all()
    assert (trained.steps <= RECIPE.max_steps).all()
    again = train_probes(task, telling_states, KEYS, RECIPE)
    assert all(torch.equal(a, b) for a, b in zip(trained.probes.parameters(), again.probes.parameters(), strict=True))


def test_counts_are_those_of_scikit_learn():
    task = word_task("dependencies", pairs=True)
    torch.manual_seed(0)
    probes = EdgeProbes(KEYS, LAYERS + 2, 12, len(LABELS), True)
    with torch.no_grad():
        probes.out.mul_(20)
    scored = torch.tensor([True, False, True])
    counts = count_answers(probes, task.development, telling_states, scored, batch=5)
    assert counts.shape == (len(KEYS), len(task.development), 3)
    order, predicted, right = [], [], []
    for batch, logits, truth in answers(probes, task.development, telling_states, 5):
        order += batch
        predicted.append((logits[3] >= 0).numpy())
        right.append(truth[3].numpy())
    predicted, right = np.concatenate(predicted)[:, [0, 2]], np.concatenate(right)[:, [0, 2]]
    assert f1_of(counts[3].sum(0)) == pytest.approx(100 * f1_score(right, predicted, average="micro"))
    place = [s.example.record for s in task.development].index(order[4].example.record)
    fifth = slice(4 * 6, 5 * 6)  # targets of the fifth sentence
    slow = [
        (predicted[fifth] & right[fifth]).sum(),
        (predicted[fifth] & ~right[fifth]).sum(),
        (~predicted[fifth] & right[fifth]).sum(),
    ]
    assert counts[3, place].tolist() == slow


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=5))
def test_f1_is_the_harmonic_mean_of_precision_and_recall(counts):
    for (true, false, missed), f1 in zip(counts, f1_of(counts), strict=True):
        precision = true / (true + false) if true + false else 0
        recall = true / (true + missed) if true + missed else 0
        slow = 200 * precision * recall / (precision + recall) if precision + recall else 0
        assert f1 == pytest.approx(slow)


def test_probes_of_one_seed_that_take_the_same_steps_differ_by_their_dropout_alone(monkeypatch):
    """So early stopping that stops no probe still gives other scores than a fixed number of steps (`claims.NONE_STOPPED`)."""
    targets = word_task()
    keys = [ProbeKey(LAYERS, 1), ProbeKey(LAYERS, 1, equal=True)]
    recipe = replace(RECIPE, evaluation_interval=20, max_steps=20, equal_steps=20)

    def difference():
        trained = train_probes(targets, telling_states, keys, recipe)
        assert trained.best_steps.tolist() == trained.steps.tolist() == [20, 20]
        return max(float((parameter[0] - parameter[1]).detach().abs().max()) for parameter in trained.probes.parameters())

    assert difference() > 1e-2
    for rate in ("MIX_DROPOUT", "CLASS_DROPOUT"):
        monkeypatch.setattr(probes_module, rate, 0.0)
    assert difference() < 1e-5, "rounding"


def test_a_halved_rate_is_an_optimiser_with_half_the_rate():
    keys = [ProbeKey(1, 1), ProbeKey(1, 2)]

    def step(rate, factors):
        probes = EdgeProbes(keys, 3, 4, 2, False)
        adam = optimiser(probes, rate)
        stopping = _EarlyStopping(keys, Recipe(), probes)
        stopping._factor[:] = factors
        generator = torch.Generator().manual_seed(0)
        for _ in range(5):
            for parameter in probes.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=generator)
            stopping.step(adam)
        return [parameter.detach() for parameter in probes.parameters()]

    mixed, whole, half = step(0.01, [1, 0.5]), step(0.01, [1, 1]), step(0.005, [1, 1])
    for parameter, first, second in zip(mixed, whole, half, strict=True):
        assert torch.allclose(parameter[0], first[0])
        assert torch.allclose(parameter[1], second[1], atol=1e-6)


def test_training_halves_waits_and_keeps_the_best():
    keys = [ProbeKey(0, 1), ProbeKey(1, 1), ProbeKey(1, 1, equal=True)]
    probes = EdgeProbes(keys, 3, 4, 2, False)
    stopping = _EarlyStopping(keys, Recipe(halve_after=2, patience=4, max_steps=100, equal_steps=10_000), probes)
    values = [10.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0]
    for number, score in enumerate(values, start=1):
        with torch.no_grad():
            probes.out_bias.fill_(number)
        stopping._steps_taken = 10 * number
        stopping.record(10 * number, np.asarray([score, 50.0 + number, 0.0]))
    assert stopping._factor[0] == 0, "ended"
    assert (stopping._steps[0], stopping._best_steps[0]) == (70, 20), "at the fifth evaluation without a gain"
    assert stopping._best_steps[1] == 80
    trained = stopping.trained()
    assert trained.probes.out_bias[0, 0].item() == 2
    assert trained.probes.out_bias[1, 0].item() == 8
    assert trained.steps.tolist() == [70, 80, 80]


@pytest.mark.parametrize("seed", range(4))
def test_learning_rates_and_stopping_are_those_of_the_published_code(seed):
    """torch's scheduler with a threshold of 1e-4 of F1; and an end after so many evaluations without a new best score."""
    generator = np.random.default_rng(seed)
    # Gains of less and of more than 0.01 points, and plateaus.
    scores = 50 + np.cumsum(generator.choice([0.0, 0.004, 0.02, -0.01], size=60, p=[0.4, 0.2, 0.1, 0.3]))
    recipe = Recipe(halve_after=5, patience=20, max_steps=10_000, equal_steps=1)
    stopping = _EarlyStopping([ProbeKey(1, 1)], recipe, EdgeProbes([ProbeKey(1, 1)], 3, 4, 2, False))
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="max", factor=0.5, patience=5, threshold=1e-4, threshold_mode="abs"
    )
    ended = False
    for number, score in enumerate(scores, start=1):
        stopping.record(number, np.asarray([score]))
        ended = number > 21 and scores[number - 21 : number].max() <= scores[: number - 21].max()
        if ended:
            assert stopping.ended.all()
            break
        scheduler.step(score / 100)
        assert stopping._factor[0] == pytest.approx(optimizer.param_groups[0]["lr"]), number
        assert not stopping.ended.all()
    assert stopping._best_steps[0] == 1 + int(scores[:number].argmax())


def test_with_the_published_patience_the_rate_is_halved_at_the_sixth_evaluation_and_training_ends_at_the_21st():
    stopping = _EarlyStopping([ProbeKey(1, 1)], Recipe(max_steps=100), EdgeProbes([ProbeKey(1, 1)], 3, 4, 2, False))
    stopping.record(1, np.asarray([50.0]))
    factors = []
    for number in range(2, 23):
        assert not stopping.ended.all()
        stopping.record(number, np.asarray([50.0]))
        factors.append(float(stopping._factor[0]))
    assert factors[:7] == [1, 1, 1, 1, 1, 0.5, 0.5]
    assert stopping.ended.all()
    assert stopping._steps[0] == 22


def test_a_training_that_diverges_is_an_error():
    with pytest.raises(AtlasError, match=r"at or before step 10 the loss .*learning_rate of the edge probes \(1e\+30\)"):
        train_probes(word_task(), telling_states, KEYS, replace(RECIPE, learning_rate=1e30))


def test_the_checkpoint_is_chosen_by_all_labels(monkeypatch):
    task = replace(word_task("dependencies", pairs=True), task="relations", labels=("A", "B", "Other"))
    assert task.scored.tolist() == [True, True, False]
    seen = []

    def counted(probes, sentences, states, scored, batch, device):
        seen.append(scored.tolist())
        return count_answers(probes, sentences, states, scored, batch, device)

    monkeypatch.setattr(probes_module, "count_answers", counted)
    train_probes(task, telling_states, [ProbeKey(0, 1)], replace(RECIPE, max_steps=10))
    assert seen == [[True, True, True]]


@pytest.mark.parametrize("pairs", [False, True])
def test_training_on_a_gpu_gives_the_weights_of_the_cpu(pairs, monkeypatch):
    """A pretended GPU, with the order of sums of the CPU; batches are prepared by a thread there."""
    monkeypatch.setattr(devices, "on_gpu", lambda tensor: False)
    task, recipe = word_task("pos", pairs), replace(RECIPE, max_steps=20)
    reference = train_probes(task, telling_states, KEYS, recipe)
    with PretendGpu():
        trained = train_probes(task, telling_states, KEYS, recipe, "cuda")
        scored = torch.from_numpy(task.scored).to("cuda")
        counts = count_answers(trained.probes, task.development, telling_states, scored, 5, "cuda")
        weights = [parameter.detach().cpu() for parameter in trained.probes.parameters()]
    assert all(torch.equal(a, b.detach()) for a, b in zip(weights, reference.probes.parameters(), strict=True))
    assert (trained.best_steps == reference.best_steps).all()
    expected = count_answers(reference.probes, task.development, telling_states, torch.from_numpy(task.scored), 5)
    assert (counts == expected).all()


def test_values_are_prepared_ahead_in_their_order():
    prepared, threads = [], set()

    def numbers():
        for number in range(5):
            prepared.append(number)
            threads.add(threading.get_ident())
            yield number

    values = ahead(numbers())
    assert next(values) == 0
    assert next(values) == 1
    assert prepared[:2] == [0, 1]
    assert list(values) == [2, 3, 4]
    assert threading.get_ident() not in threads
    assert len(threads) == 1


def test_what_fails_in_the_thread_fails_where_values_are_used():
    def numbers():
        yield 1
        raise OSError("no such disk")

    values = ahead(numbers())
    assert next(values) == 1
    with pytest.raises(OSError, match="no such disk"):
        next(values)


def test_no_thread_is_left_when_training_ends_early():
    def endless():
        number = 0
        while True:
            yield (number := number + 1)

    before = threading.active_count()
    values = ahead(endless())
    assert next(values) == 1
    values.close()
    assert threading.active_count() == before
