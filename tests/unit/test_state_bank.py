"""Hidden states in a bank, in full or in part, against those of the host; and the memory that is left for it."""

import threading
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from edge_examples import LAYERS, WIDTH, edge_example, telling_states
from pretend_gpu import PretendGpu

from attention_atlas.corpora.examples import write_examples
from attention_atlas.io.shards import write_shard
from attention_atlas.models import devices
from attention_atlas.models.hidden_states import HiddenStates
from attention_atlas.studies.tenney2019 import device_memory, probing
from attention_atlas.studies.tenney2019.device_memory import free_bytes, training_bytes
from attention_atlas.studies.tenney2019.names import CONTROL_TASK
from attention_atlas.studies.tenney2019.probes import SIZE, EdgeProbes, ProbeKey
from attention_atlas.studies.tenney2019.probing import Outputs, Plan, ProbedCorpus, ProbedTask, probe_task
from attention_atlas.studies.tenney2019.recipe import Recipe
from attention_atlas.studies.tenney2019.state_bank import StateBank, ahead
from attention_atlas.studies.tenney2019.targets import task_targets
from attention_atlas.studies.tenney2019.training import _random_batches, collate, train_probes

ROWS = LAYERS + 2
BYTES = 2 * ROWS * WIDTH
"""Of a word piece."""
KEYS = [ProbeKey(top, 1) for top in range(LAYERS + 1)] + [ProbeKey(LAYERS, 1, labels=CONTROL_TASK)]
RECIPE = Recipe(batch=8, learning_rate=0.003, evaluation_interval=10, max_steps=20, equal_steps=10)


def stored(folder, name, examples):
    """Shards of the states of some word pieces of each example, and of all of those of every fifth example."""
    pieces = {e.record: list(range(1 + e.record % 2, len(e.tokens) - 1)) if e.record % 5 else [] for e in examples}
    facts = {"model": {"name": "m"}, "layers": LAYERS, "lexical": True}
    paths = []
    for number, part in enumerate((examples[::2], examples[1::2])):
        described = [{"record": e.record, "id": e.id, "tokens": e.tokens} for e in part]
        for entry in described:
            if pieces[entry["record"]]:
                entry["pieces"] = pieces[entry["record"]]
        states = {e.record: np.ascontiguousarray(telling_states(e)[:, pieces[e.record] or range(len(e.tokens))]) for e in part}
        paths.append(folder / f"{name}-{number}.safetensors")
        write_shard(paths[-1], paths[-1].with_suffix(".json"), states, facts | {"examples": described})
    return paths


@pytest.fixture
def corpora(tmp_path):
    """Training and development examples, and their states; the records of both begin at 0, and lengths differ."""
    whole = [edge_example(record, "roles", True) for record in range(40)]
    short = [edge_example(record, "roles", True, seed=1) for record in range(12)]
    cut = {"tokens": 7, "input_ids": 7, "segment_ids": 7, "word": 7, "words": 4, "edges": 2}
    short = [replace(e, **{name: getattr(e, name)[:size] for name, size in cut.items()}) for e in short]
    mixed = whole[:20] + short[:6]
    mixed = [replace(e, record=record) for record, e in enumerate(mixed)]
    held_out = [replace(e, record=record) for record, e in enumerate(whole[20:30] + short[6:])]
    return (mixed, held_out), [HiddenStates(stored(tmp_path, name, part)) for name, part in (("a", mixed), ("b", held_out))]


def cache_of(targets, caches):
    return probing._cache_of(targets, caches)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_a_batch_of_the_bank_is_the_batch_of_the_host(corpora, share, device):
    examples, caches = corpora
    targets = task_targets("roles", *examples)
    both = cache_of(targets, caches)
    unique = list({id(s.example): s.example for s in (*targets.training, *targets.development)}.values())
    pieces = [len(both[id(e)].pieces(e)) for e in unique]
    with PretendGpu():
        bank = StateBank(both, unique, device, share * BYTES * (sum(pieces) + 1))
        fitting = int((np.cumsum(pieces) + 1 <= share * (sum(pieces) + 1)).sum())
        assert (bank.placed, bank.examples) == (fitting, len(unique))
        assert fitting in {0: (0,), 0.4: range(8, 20), 1: (len(unique),)}[share]
        for batch in (*islice(_random_batches(targets.training, 8, 3), 6), targets.development[-5:], targets.development[:1]):
            host = collate(batch, probing._states_of_both(targets, caches), KEYS, device)
            banked = collate(batch, bank, KEYS, device)
            assert host.keys() == banked.keys()
            for name in ("states", "truth"):
                assert banked[name].dtype == host[name].dtype
                assert torch.equal(banked[name].cpu(), host[name].cpu())
            for side in ("first", "second"):
                for part in ("sentence", "start", "stop"):
                    assert torch.equal(getattr(banked[side], part).cpu(), getattr(host[side], part).cpu())
            assert host["states"].any()


def test_the_bank_takes_no_more_than_its_limit(corpora):
    examples, caches = corpora
    targets = task_targets("roles", *examples)
    both = cache_of(targets, caches)
    placed = []
    for limit in np.linspace(0, BYTES * 500, 40):
        bank = StateBank(both, examples[0], "cpu", limit)
        # One place of zeros is always there.
        assert bank.bytes <= max(limit, BYTES)
        placed.append(bank.placed)
    assert placed[0] == 0
    assert placed[-1] == len(examples[0])
    assert placed == sorted(placed)
    assert len(set(placed)) > 5


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_training_on_a_gpu_gives_the_weights_of_the_host(corpora, share, monkeypatch):
    """A pretended GPU, with the order of sums of the CPU; batches are prepared by a thread there."""
    monkeypatch.setattr(devices, "on_gpu", lambda tensor: False)
    examples, caches = corpora
    targets = task_targets("roles", *examples)
    reference = train_probes(targets, probing._states_of_both(targets, caches), KEYS, RECIPE)
    with PretendGpu():
        bank = StateBank(cache_of(targets, caches), [s.example for s in targets.training], "cuda", share * BYTES * 250)
        assert (bank.placed > 0) == (share > 0)
        trained = train_probes(targets, bank, KEYS, RECIPE, "cuda")
        weights = [parameter.detach().cpu() for parameter in trained.probes.parameters()]
    assert all(torch.equal(a, b.detach()) for a, b in zip(weights, reference.probes.parameters(), strict=True))
    assert (trained.best_steps == reference.best_steps).all()
    assert (trained.steps == reference.steps).all()


@pytest.mark.parametrize("free", [0.0, 1e12])
def test_tables_of_a_gpu_are_those_of_the_host(tmp_path, corpora, free, monkeypatch, caplog):
    monkeypatch.setattr(devices, "on_gpu", lambda tensor: False)
    parts = []
    for name, examples in zip(("train", "dev"), corpora[0], strict=True):
        write_examples(tmp_path / f"{name}.parquet", examples)
        parts.append(ProbedCorpus([tmp_path / f"{name}.parquet"], stored(tmp_path, name, examples), 1000))
    probed = ProbedTask(*parts, None, RECIPE)
    plan = Plan([1, 2], ["embeddings", "lexical"], True, True, None, 5)

    def written(name):
        out = Outputs(*(tmp_path / f"{name}.{kind}" for kind in ("scores", "weights", "counts", "cases")))
        probe_task("roles", probed, plan, out)
        return [path.read_bytes() for path in (out.scores, out.weights, out.counts, out.cases)]

    reference = written("host")
    monkeypatch.setattr(probing, "pick_device", lambda: "cuda")
    monkeypatch.setattr(probing, "free_bytes", lambda: free)
    with PretendGpu(), caplog.at_level("INFO"):
        assert written("gpu") == reference
    placed = len({id(e) for part in corpora[0] for e in part}) if free else 0
    assert f"hidden states of {placed} of 42 sentences are on the GPU" in caplog.text


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


def test_memory_of_training_is_that_of_its_largest_batches(corpora):
    """Against loops over the batches that training draws and evaluation reads."""
    examples, _ = corpora
    targets = task_targets("roles", *examples)
    probes, seeds = 5, (1, 2)
    largest = 0
    for seed in seeds:
        for batch in islice(_random_batches(targets.training, RECIPE.batch, seed), RECIPE.max_steps):
            largest = max(largest, slow_bytes(batch, probes, 8))
    ordered = sorted(targets.development, key=lambda s: len(s.example.input_ids))
    for start in range(0, len(ordered), RECIPE.batch):
        largest = max(largest, slow_bytes(ordered[start : start + RECIPE.batch], probes, 3))
    keys = [ProbeKey(LAYERS, seed) for seed in range(probes)]
    weights = sum(p.numel() for p in EdgeProbes(keys, ROWS, WIDTH, len(targets.labels), True).parameters())
    expected = device_memory._LIBRARIES + 8 * 4 * weights + largest
    assert training_bytes(targets, RECIPE, seeds, probes, ROWS, WIDTH) == pytest.approx(expected, rel=1e-3, abs=1e4)
    assert largest > 1e6


def slow_bytes(batch, probes, copies):
    pieces = sum(len(sentence.example.input_ids) for sentence in batch)
    longest = max(len(sentence.example.input_ids) for sentence in batch)
    spans = [span for sentence in batch for side in (sentence.first, sentence.second) for span in side.tolist()]
    pooled = sum(len(sentence.targets) for sentence in batch) * max(stop - start for start, stop in spans)
    values = pieces * (WIDTH + 2 * SIZE) + 2 * SIZE * pooled
    return copies * 4 * probes * values + 10 * RECIPE.batch * longest * ROWS * WIDTH


def test_without_a_gpu_no_memory_is_free_for_a_bank(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert free_bytes() == 0
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (5, 8))
    assert free_bytes() == 5
