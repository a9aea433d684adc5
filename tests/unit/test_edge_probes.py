"""Edge probes, many at once, against one at a time in plain modules of torch."""

import math

import pytest
import torch
from pretend_gpu import PretendGpu
from torch import nn

from attention_atlas.models import devices
from attention_atlas.studies.tenney2019.probes import (
    SIZE,
    EdgeProbes,
    ProbeKey,
    Spans,
    clip_by_probe,
    optimiser,
    probe_losses,
)

SENTENCES, LAYERS, PIECES, WIDTH, LABELS, TARGETS = 3, 4, 7, 10, 5, 6
# The last row of the states is the words alone.
KEYS = [ProbeKey(top, seed) for top in range(LAYERS - 1) for seed in (0, 1)] + [ProbeKey(2, 0, lexical=True)]


def spans(seed):
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(0, PIECES - 1, (TARGETS,), generator=generator)
    length = torch.randint(1, 4, (TARGETS,), generator=generator)
    rows = torch.randint(0, SENTENCES, (TARGETS,), generator=generator)
    return Spans(rows, start, (start + length).clamp(max=PIECES))


STATES = torch.randn(SENTENCES, LAYERS, PIECES, WIDTH, generator=torch.Generator().manual_seed(0))
FIRST, SECOND = spans(1), spans(2)
TRUTH = (torch.rand(TARGETS, LABELS, generator=torch.Generator().manual_seed(3)) < 0.4).float()


def edge_probes(pairs=True, keys=KEYS):
    probes = EdgeProbes(keys, LAYERS, WIDTH, LABELS, pairs)
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
            projection, score = nn.Linear(WIDTH, SIZE), nn.Linear(SIZE, 1, bias=False)
            projection.weight.data = side.project[number].detach().T.clone()
            projection.bias.data = side.bias[number].detach().clone()
            score.weight.data = side.attend[number].detach()[None].clone()
            self.projections.append(projection)
            self.scores.append(score)
        inner, out = nn.Linear(SIZE * len(probes.sides), SIZE), nn.Linear(SIZE, LABELS)
        inner.weight.data, inner.bias.data = (
            probes.hidden[number].detach().T.clone(),
            probes.hidden_bias[number].detach().clone(),
        )
        out.weight.data, out.bias.data = probes.out[number].detach().T.clone(), probes.out_bias[number].detach().clone()
        self.classify = nn.Sequential(inner, nn.Tanh(), nn.LayerNorm(SIZE), out)

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
    probes = edge_probes(pairs)
    all_spans = (FIRST, SECOND) if pairs else (FIRST,)
    logits = probes(STATES, *all_spans)
    assert logits.shape == (len(KEYS), TARGETS, LABELS)
    for number in range(len(KEYS)):
        assert torch.allclose(logits[number], Slow(probes, number)(all_spans), atol=1e-5), KEYS[number]


def test_gradients_are_those_of_each_probe_by_itself():
    probes = edge_probes()
    losses = probe_losses(probes(STATES, FIRST, SECOND), TRUTH)
    losses.sum().backward()
    for number in (0, 5, len(KEYS) - 1):
        slow = Slow(probes, number)
        loss = nn.functional.binary_cross_entropy_with_logits(slow((FIRST, SECOND)), TRUTH)
        loss.backward()
        assert losses[number].item() == pytest.approx(loss.item(), rel=1e-5)
        assert torch.allclose(probes.mix.grad[number], slow.mix.grad, atol=1e-6)
        assert torch.allclose(probes.sides[1].project.grad[number], slow.projections[1].weight.grad.T, atol=1e-6)
        assert torch.allclose(probes.out.grad[number], slow.classify[3].weight.grad.T, atol=1e-6)


def test_a_probe_uses_its_layers_alone_and_its_weights_sum_to_1():
    probes = edge_probes()
    weights = probes.weights
    assert torch.allclose(weights.sum(1), torch.ones(len(KEYS)))
    for key, row_weights in zip(KEYS, weights, strict=True):
        used = {LAYERS - 1, 1, 2} if key.lexical else set(range(key.top + 1))
        assert {row for row, weight in enumerate(row_weights) if weight > 0} == used
    changed = STATES.clone()
    changed[:, 2:3] += 1
    difference = (probes(changed, FIRST, SECOND) - probes(STATES, FIRST, SECOND)).abs().amax(dim=(1, 2))
    assert all((moved > 1e-6) == (key.top >= 2) for key, moved in zip(KEYS, difference, strict=True))


def test_the_same_seed_starts_the_same_and_new_probes_mix_evenly():
    probes = EdgeProbes(KEYS, LAYERS, WIDTH, LABELS, True)
    assert torch.equal(probes.hidden[0], probes.hidden[2]), "seed 0 of two top layers"
    assert not torch.equal(probes.hidden[0], probes.hidden[1])
    assert not torch.equal(probes.sides[0].project[0], probes.sides[1].project[0])
    assert probes.weights[4].tolist() == pytest.approx([1 / 3] * 3 + [0])
    assert float(probes.hidden.detach().abs().max()) <= 1 / math.sqrt(2 * SIZE)


def test_each_probe_is_clipped_to_its_own_norm():
    probes = edge_probes()
    losses = probe_losses(probes(STATES, FIRST, SECOND), TRUTH)
    (losses * torch.arange(1, len(KEYS) + 1) * 1e3).sum().backward()
    before = [parameter.grad.clone() for parameter in probes.parameters()]
    clip_by_probe(probes.parameters(), 5.0)
    for number in range(len(KEYS)):
        norm = math.sqrt(sum(float(grad[number].square().sum()) for grad in before))
        after = math.sqrt(sum(float(p.grad[number].square().sum()) for p in probes.parameters()))
        assert norm > 5
        assert after == pytest.approx(5, rel=1e-3)
    small = edge_probes()
    (probe_losses(small(STATES, FIRST, SECOND), TRUTH) * 1e-3).sum().backward()
    before_clipping = small.hidden.grad.clone()
    clip_by_probe(small.parameters(), 5.0)
    assert torch.equal(small.hidden.grad, before_clipping)


def test_training_together_is_training_alone():
    def train(keys, steps=12):
        probes = EdgeProbes(keys, LAYERS, WIDTH, LABELS, True).eval()  # no dropout, whose chance would differ
        adam = optimiser(probes, 1e-2, mixing_rate_factor=5.0)
        for _ in range(steps):
            adam.zero_grad()
            losses = probe_losses(probes(STATES, FIRST, SECOND), TRUTH)
            losses.sum().backward()
            clip_by_probe(probes.parameters())
            adam.step()
        return probes, losses

    together, losses = train(KEYS)
    for number in (0, 3, 6):
        alone, loss = train(KEYS[number : number + 1])
        assert loss.item() == pytest.approx(losses[number].item(), rel=1e-3)
        assert torch.allclose(together.mix[number], alone.mix[0], atol=1e-3)
    first = probe_losses(EdgeProbes(KEYS, LAYERS, WIDTH, LABELS, True).eval()(STATES, FIRST, SECOND), TRUTH)
    assert (losses < first - 0.1).all()


def test_probes_drop_values_in_training_alone():
    probes = edge_probes()
    logits = probes(STATES, FIRST, SECOND)
    assert torch.equal(probes(STATES, FIRST, SECOND), logits)
    probes.train()
    steps = [probes(STATES, FIRST, SECOND) for _ in range(2)]
    assert not torch.equal(*steps)
    assert not any(torch.equal(step, logits) for step in steps)


@pytest.mark.parametrize("way_of_the_cpu", [True, False])
def test_both_ways_of_training_run_on_a_gpu(monkeypatch, way_of_the_cpu):
    """On a GPU that is pretended, a step is the same; the order of sums on a GPU changes it by rounding alone."""

    def step(device):
        torch.manual_seed(1)
        probes = edge_probes().to(device).train()
        where = [Spans(*(getattr(side, name).to(device) for name in ("sentence", "start", "stop"))) for side in (FIRST, SECOND)]
        probe_losses(probes(STATES.to(device), *where), TRUTH.to(device)).sum().backward()
        clip_by_probe(probes.parameters(), 0.01)
        return [parameter.grad.cpu() for parameter in probes.parameters()]

    on_cpu = step("cpu")
    if way_of_the_cpu:
        monkeypatch.setattr(devices, "on_gpu", lambda tensor: False)
    with PretendGpu():
        there = step("cuda")
    for gradient, expected in zip(there, on_cpu, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=0 if way_of_the_cpu else 1e-4, atol=0 if way_of_the_cpu else 1e-8)
