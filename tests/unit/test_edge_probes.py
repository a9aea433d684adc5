"""Edge probes, many at once, against one at a time in plain modules of torch; their training and counts."""

import math

import numpy as np
import pytest
import torch
from edge_examples import LAYERS as TOP
from edge_examples import TELLING, telling_states, word_task
from sklearn.metrics import f1_score
from torch import nn

from attention_atlas.studies.tenney2019 import probes as ep
from attention_atlas.studies.tenney2019.probing import Plan
from attention_atlas.studies.tenney2019.targets import CONTROL_TASK, SHUFFLED_LABELS, Recipe, f1_of

SENTENCES, LAYERS, PIECES, WIDTH, LABELS, TARGETS = 3, 4, 7, 10, 5, 6
# The last row of the states is the words alone.
KEYS = [ep.ProbeKey(top, seed) for top in range(LAYERS - 1) for seed in (0, 1)] + [ep.ProbeKey(2, 0, lexical=True)]


def spans(seed):
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(0, PIECES - 1, (TARGETS,), generator=generator)
    length = torch.randint(1, 4, (TARGETS,), generator=generator)
    rows = torch.randint(0, SENTENCES, (TARGETS,), generator=generator)
    return ep.Spans(rows, start, (start + length).clamp(max=PIECES))


STATES = torch.randn(SENTENCES, LAYERS, PIECES, WIDTH, generator=torch.Generator().manual_seed(0))
FIRST, SECOND = spans(1), spans(2)
TRUTH = (torch.rand(TARGETS, LABELS, generator=torch.Generator().manual_seed(3)) < 0.4).float()


def edge_probes(pairs=True, keys=KEYS):
    probes = ep.EdgeProbes(keys, LAYERS, WIDTH, LABELS, pairs)
    with torch.no_grad():
        # Away from equal weights, so that mixing shows.
        probes.mix.copy_(torch.randn(len(keys), LAYERS, generator=torch.Generator().manual_seed(4)))
        probes.scale.copy_(1 + 0.1 * torch.arange(len(keys)))
    return probes.eval()


class Slow(nn.Module):
    """One probe of the paper, spelled out."""

    def __init__(self, probes, number):
        super().__init__()
        key = probes.keys[number]
        self.layers = [LAYERS - 1, *range(1, key.top + 1)] if key.lexical else range(key.top + 1)
        self.mix = nn.Parameter(probes.mix[number].detach().clone())
        self.scale = nn.Parameter(probes.scale[number].detach().clone())
        self.projections, self.scores = nn.ModuleList(), nn.ModuleList()
        for side in probes.sides:
            projection, score = nn.Linear(WIDTH, ep.SIZE), nn.Linear(ep.SIZE, 1, bias=False)
            projection.weight.data = side.project[number].detach().T.clone()
            projection.bias.data = side.bias[number].detach().clone()
            score.weight.data = side.attend[number].detach()[None].clone()
            self.projections.append(projection)
            self.scores.append(score)
        inner, out = nn.Linear(ep.SIZE * len(probes.sides), ep.SIZE), nn.Linear(ep.SIZE, LABELS)
        for layer, weight, bias in ((inner, probes.hidden, probes.hidden_bias), (out, probes.out, probes.out_bias)):
            layer.weight.data, layer.bias.data = weight[number].detach().T.clone(), bias[number].detach().clone()
        self.classify = nn.Sequential(inner, nn.Tanh(), nn.LayerNorm(ep.SIZE), out)

    def forward(self, all_spans):
        logits = []
        for target in range(TARGETS):
            pooled = []
            for span, projection, score in zip(all_spans, self.projections, self.scores, strict=True):
                weights = torch.stack([self.mix[layer] for layer in self.layers]).softmax(0)
                vectors = []
                for piece in range(int(span.start[target]), int(span.stop[target])):
                    states = [STATES[span.sentence[target], layer, piece] for layer in self.layers]
                    mixed = self.scale * sum(w * state for w, state in zip(weights, states, strict=True))
                    vectors.append(projection(mixed))
                vectors = torch.stack(vectors)
                pooled.append((score(vectors).softmax(0) * vectors).sum(0))
            logits.append(self.classify(torch.cat(pooled)))
        return torch.stack(logits)


@pytest.mark.parametrize("pairs", [True, False])
def test_all_probes_at_once_are_each_by_itself(pairs):
    probes, all_spans = edge_probes(pairs), (FIRST, SECOND) if pairs else (FIRST,)
    draws = [weights[0].flatten()[0].item() for name, weights in probes.named_parameters() if "norm" not in name]
    assert len({*draws}) == len(draws), "every parameter has random weights of its own"
    logits = probes(STATES, *all_spans)
    losses = ep.probe_losses(logits, TRUTH)
    losses.sum().backward()
    for number in range(len(KEYS)):
        slow = Slow(probes, number)
        slow_logits = slow(all_spans)
        loss = nn.functional.binary_cross_entropy_with_logits(slow_logits, TRUTH)
        loss.backward()
        assert torch.allclose(logits[number], slow_logits, atol=1e-5), KEYS[number]
        assert losses[number].item() == pytest.approx(loss.item(), rel=1e-5)
        assert torch.allclose(probes.mix.grad[number], slow.mix.grad, atol=1e-6)
        assert torch.allclose(probes.sides[-1].project.grad[number], slow.projections[-1].weight.grad.T, atol=1e-6)
        assert torch.allclose(probes.out.grad[number], slow.classify[3].weight.grad.T, atol=1e-6)


def test_each_probe_is_clipped_to_its_own_norm():
    probes = edge_probes()
    losses = ep.probe_losses(probes(STATES, FIRST, SECOND), TRUTH)
    (losses * torch.tensor([1e-3, *range(1, len(KEYS))]) * 1e3).sum().backward()
    before = [parameter.grad.clone() for parameter in probes.parameters()]
    ep.clip_by_probe(probes.parameters(), 5.0)
    after = [parameter.grad for parameter in probes.parameters()]
    for number in range(len(KEYS)):
        norm, clipped = (math.sqrt(sum(float(grad[number].square().sum()) for grad in grads)) for grads in (before, after))
        assert (norm > 5) == (number > 0)
        assert clipped == pytest.approx(min(norm, 5), rel=1e-3)


# --- training ---------------------------------------------------------------------------------------------------------

STEPS = {"evaluation_interval": 10, "max_steps": 120, "equal_steps": 30, "halve_after": 2, "patience": 4}
RECIPE = Recipe(batch=8, learning_rate=0.003, mixing_rate_factor=20, **STEPS)
TOPS = [ep.ProbeKey(top, 1) for top in range(TOP + 1)]
OF_SEED = [
    *TOPS,
    *(ep.ProbeKey(TOP, 1, **of) for of in ({"equal": True}, {"labels": CONTROL_TASK}, {"labels": SHUFFLED_LABELS})),
]


@pytest.mark.parametrize("pairs", [False, True])
def test_probes_find_a_label_from_the_layer_that_tells_it_and_shuffled_labels_find_nothing(pairs):
    task = word_task("pos", pairs)
    probes, steps = ep.train_probes(task, telling_states, OF_SEED, RECIPE)
    f1 = f1_of(ep.count_answers(probes, task.development, telling_states, torch.from_numpy(task.scored), 5).sum(1))
    assert f1[TELLING] > 90
    assert f1[TOP] > 90
    assert f1[TELLING - 1] < 70
    assert pairs or f1[-1] < 55
    weights = probes.weights.detach().numpy()
    assert weights[TOP, TELLING : TOP + 1].sum() > 0.55, "the mix moves to where the label is"
    assert (weights[:, -1] == 0).all(), "the words alone are for those that ask for them"
    assert not torch.equal(probes.sides[0].project[0], probes.sides[-1].project[0]) or not pairs
    assert steps[len(TOPS)] == RECIPE.equal_steps


def test_counts_are_those_of_scikit_learn():
    task = word_task("dependencies", pairs=True)
    torch.manual_seed(0)
    probes = ep.EdgeProbes(OF_SEED, TOP + 2, 12, len(task.labels), True)
    with torch.no_grad():
        probes.out.mul_(20)
    counts = ep.count_answers(probes, task.development, telling_states, torch.tensor([True, False, True]), batch=5)
    batches = list(ep.answers(probes, task.development, telling_states, 5))
    order = [sentence.example.record for batch, *_ in batches for sentence in batch]
    predicted = np.concatenate([(logits[3] >= 0).numpy() for _, logits, _ in batches])[:, [0, 2]]
    right = np.concatenate([truth[3].numpy() for *_, truth in batches])[:, [0, 2]]
    assert f1_of(counts[3].sum(0)) == pytest.approx(100 * f1_score(right, predicted, average="micro"))
    place = [sentence.example.record for sentence in task.development].index(order[4])
    ours, gold = predicted[4 * 6 : 5 * 6], right[4 * 6 : 5 * 6]  # targets of the fifth sentence
    assert counts[3, place].tolist() == [(ours & gold).sum(), (ours & ~gold).sum(), (~ours & gold).sum()]


def early_stopping(*keys, **of_recipe):
    keys = keys or (ep.ProbeKey(1, 1),)
    return ep._EarlyStopping(keys, Recipe(**of_recipe), ep.EdgeProbes(keys, 3, 4, 2, False))


def test_a_halved_rate_is_an_optimiser_with_half_the_rate():
    def step(rate, factors):
        stopping = early_stopping(ep.ProbeKey(1, 1), ep.ProbeKey(1, 2))
        adam, stopping._factor[:] = torch.optim.Adam(stopping._probes.parameters(), lr=rate, amsgrad=True), factors
        generator = torch.Generator().manual_seed(0)
        for _ in range(5):
            for parameter in stopping._probes.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=generator)
            stopping.step(adam)
        return [parameter.detach() for parameter in stopping._probes.parameters()]

    for mixed, whole, half in zip(step(0.01, [1, 0.5]), step(0.01, [1, 1]), step(0.005, [1, 1]), strict=True):
        assert torch.allclose(mixed[0], whole[0])
        assert torch.allclose(mixed[1], half[1], atol=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_learning_rates_and_stopping_are_those_of_the_published_code(seed):
    """torch's scheduler with a threshold of 1e-4 of F1; and an end after so many evaluations without a new best score."""
    generator = np.random.default_rng(seed)
    # Gains of less and of more than 0.01 points, and plateaus.
    scores = 50 + np.cumsum(generator.choice([0.0, 0.004, 0.02, -0.01], size=60, p=[0.4, 0.2, 0.1, 0.3]))
    stopping = early_stopping(max_steps=10_000, equal_steps=1)
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="max", factor=0.5, patience=5, threshold=1e-4, threshold_mode="abs"
    )
    for number, score in enumerate(scores, start=1):
        with torch.no_grad():
            stopping._probes.scale.fill_(number)
        stopping.record(number, np.asarray([score]))
        if number > 21 and scores[number - 21 : number].max() <= scores[: number - 21].max():
            assert stopping.ended.all()
            break
        scheduler.step(score / 100)
        assert stopping._factor[0] == pytest.approx(optimizer.param_groups[0]["lr"]), number
        assert not stopping.ended.all()
    assert stopping.trained()[0].scale.item() == 1 + int(scores[:number].argmax())


def test_training_ends_below_the_smallest_learning_rate():
    stopping = early_stopping(learning_rate=4e-6, min_learning_rate=1e-6, halve_after=0, equal_steps=1)
    for step in range(1, 4):
        stopping.record(step, np.zeros(1))
        assert not stopping.ended.all(), "4e-6, 2e-6, and then the smallest rate itself, which is still used"
    stopping.record(4, np.zeros(1))
    assert stopping.trained()[1].tolist() == [4]


def test_a_control_model_is_probed_on_layer_0_and_the_last_alone():
    study = Plan([5, 6], ["embeddings", "lexical"], whole=True, controls=True)
    control = Plan([5, 6], ["embeddings"], whole=False, controls=False)
    assert [(key.top, key.seed) for seed in (5, 6) for key in control.keys(TOP, seed)] == [(0, 5), (TOP, 5), (0, 6), (TOP, 6)]
    every = [(top, lexical) for lexical in (False, True) for top in range(TOP + 1)]
    for seed in (5, 6):
        keys = study.keys(TOP, seed)
        assert [(key.top, key.lexical) for key in keys if key.columns["condition"] == "early_stopping"] == every
        assert [key.top for key in keys if key.equal] == [TOP]
        assert [key.top for key in keys if key.labels == CONTROL_TASK] == [0, TOP]
        assert [key.top for key in keys if key.labels == SHUFFLED_LABELS] == [TOP] * (seed == 5), "shuffled labels: one seed"
