"""Work of jobs by shapes, the fit of seconds to it, and how long a plan takes."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.workflow.config import read_configuration, resolve
from attention_atlas.workflow.cost_model import (
    disk_of,
    fit,
    fit_shared,
    measured_rules,
    read_coefficients,
    seconds,
    speed,
    workload,
)
from attention_atlas.workflow.costs import Shape, extraction_memory, gradient_memory
from attention_atlas.workflow.passes import SHARED_KINDS, Probing, Search, decoding, forward, probing, training
from attention_atlas.workflow.plan import Capacity, Planned, makespan, peak_bytes, schedule
from attention_atlas.workflow.resources import JobResources

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def config():
    return resolve(read_configuration(ROOT))


def test_operations_of_a_forward_pass_are_those_of_its_matrix_products():
    shape, n = Shape(layers=2, heads=3, hidden=48), 7
    h, width = shape.hidden, shape.hidden // shape.heads
    products = []
    for _ in range(shape.layers):
        products += [(n, h, h)] * 4  # queries, keys, values, output
        products += [(n, width, n)] * 3 + [(n, n, width)] * 3  # scores and sums of three heads
        products += [(n, h, 4 * h), (n, 4 * h, h)]
    assert shape.forward_flop(n) == sum(2 * a * b * c for a, b, c in products)
    assert shape.cells(n) == 2 * 3 * n * n


def test_work_of_jobs(config):
    shard = {"run": "sample", "model": "minilm", "corpus": "sample-trees", "shard": "0"}
    work = workload(config, "extract_attention", shard)
    # Heads of MiniLM are 32 wide, not 64 as BERT's.
    shape = Shape(6, 12, 384)
    sentences = config["corpora"]["sample-trees"]["limit"]
    assert work["gflop"] == pytest.approx(sentences * shape.forward_flop(20) / 1e9)
    assert work["gcells"] == pytest.approx(sentences * 72 * 400 / 1e9)
    settings = config["runs"]["sample"]["stefanik2021"]
    fitted = workload(config, "stefanik2021_detection", {"run": "sample"})["gfitted"]
    documents = config["corpora"]["sample-keyphrases"]
    regressions = settings["fits"] + settings["folds"]
    assert fitted == pytest.approx(regressions * documents["limit"] * documents["mean_tokens"] * 72 / 1e9)
    pairs = workload(config, "clark2019_head_distances", {"run": "sample"})["gpairs"]
    tokens = config["corpora"]["sample-segments"].get("mean_tokens", 128)
    segments = config["corpora"]["sample-segments"]["limit"]
    assert pairs == pytest.approx(segments * tokens**2 * (72 * 71 / 2) / 1e9)
    assert workload(config, "clark2019_figure2", {"run": "sample"}) == {}
    # As many tasks in a job, as much work.
    job = {"run": "sample", "model": "minilm", "seed_part": "0"}
    one, two = (workload(config, "tenney2019_probes", job | {"edge_tasks": tasks}) for tasks in ("pos", "pos-roles"))
    assert two["kblocks"] > one["kblocks"] > 0
    assert two["gflop"] > one["gflop"] > 0
    # Of as many seeds.
    config["runs"]["sample"]["tenney2019"]["seeds_per_job"] = 1
    seed = workload(config, "tenney2019_probes", job | {"edge_tasks": "pos"})
    assert seed["gupdates"] == pytest.approx(one["gupdates"] / 3)
    # A model in the path counts, not that of the run.
    probes = workload(config, "clark2019_probes", {"run": "open", "model": "bert-base-random-1"})
    assert probes == pytest.approx({"kwords": 9 * 12544 * 21 / 1000, "distance_kwords": 0, "kdecoded": 2 * 3 * 2 * 2001 / 1000})
    study_probes = workload(config, "clark2019_probes", {"run": "open", "model": "bert-base-uncased"})
    assert study_probes["distance_kwords"] == probes["kwords"]
    assert study_probes["kdecoded"] == pytest.approx(3 * probes["kdecoded"])
    # Development sentences are read forward once an epoch, a third of the work of training on them.
    divided = read_configuration(ROOT)
    divided["runs"]["open"]["clark2019"]["probes"] |= {"development_share": 0.3}
    words = workload(resolve(divided), "clark2019_probes", {"run": "open", "model": "bert-base-uncased"})["kwords"]
    assert words == pytest.approx(0.8 * study_probes["kwords"])


def test_work_grows_with_examples_and_a_variant_costs_what_its_rule_does(config):
    twice = read_configuration(ROOT)
    twice["corpora"]["sample-segments"]["limit"] *= 2
    run = {"run": "sample"}
    for rule in ("clark2019_surface", "clark2019_gradients", "clark2019_head_distances"):
        for kind, amount in workload(config, rule, run).items():
            assert workload(resolve(twice), rule, run)[kind] == pytest.approx(2 * amount)
    coefficients = {
        "seconds": {"clark2019_surface": {"fixed": 1.0, "gcells": 2.0}, "other": {"fixed": 3.0}},
        "shared": {"gflop": 0.5},
    }
    work = workload(config, "clark2019_surface", run)
    assert seconds(coefficients, "clark2019_surface_variant", work) == seconds(coefficients, "clark2019_surface", work)
    assert seconds(coefficients, "never_measured", {}) == 3.0
    assert seconds(coefficients, "never_measured", {"gflop": 8.0}) == 7.0
    assert seconds(coefficients, "never_measured", {"gflop": 8.0}, threads=4) == pytest.approx(3 + 4 / speed(4))


def test_the_fit_finds_what_made_the_numbers():
    measured = [("a", {"gflop": g, "gcells": c}, 2 + 0.5 * g + 3 * c) for g, c in itertools.product([1, 5, 20], [0, 2, 9])]
    measured += [("b", {}, 1.0), ("c", {}, 3.0)]
    coefficients = fit(measured)
    assert coefficients["a"] == pytest.approx({"fixed": 2, "gflop": 0.5, "gcells": 3})
    assert coefficients["other"] == {"fixed": 2.0}
    assert all(value >= 0 for rule_coefficients in coefficients.values() for value in rule_coefficients.values())


def test_the_fit_leaves_out_what_all_rules_share():
    measured = [("a", {"gflop": g, "gcells": c}, 2 + 0.5 * g + 3 * c) for g, c in itertools.product([1, 5, 20], [0, 2, 9])]
    assert fit(measured, {"gflop": 0.5})["a"] == pytest.approx({"fixed": 2, "gcells": 3})


def test_shared_kinds_are_fitted_to_jobs_of_several_shapes():
    truth = {"gflop": 0.01, "gactivations": 4.0, "gweights": 2.0, "kblocks": 0.5}
    works = [
        forward(Shape(layers, heads, hidden), records, tokens)
        for layers, heads, hidden in ((4, 4, 256), (6, 12, 384), (4, 16, 1024))
        for records, tokens in ((8, 24), (200, 24), (16, 180))
    ]
    jobs = [(work, sum(truth[kind] * amount for kind, amount in work.items())) for work in works]
    assert fit_shared(jobs) == pytest.approx(truth)


def test_work_of_training_searches_and_probes():
    shape = Shape(2, 3, 48)
    once = forward(shape, 64, 10, 160)
    trained = training(shape, 64, 10, 16, parameters=1e6)
    assert {kind: trained[kind] for kind in once} == {kind: pytest.approx(3 * amount) for kind, amount in once.items()}
    assert trained["gupdates"] == pytest.approx(4e-3)
    # A row of a step: self-attention, queries and outputs of cross-attention, feed-forward, scores; keys of the sentence once.
    search = decoding(shape, 1, 10, Search(beams=1, length=6, vocabulary=100))
    products = 2 * (4 * 48**2 + 2 * 48**2 + 2 * 4 * 48**2) * 2 + 2 * 100 * 48
    assert search["gflop"] == pytest.approx((6 * (products + 4 * 2 * 13 * 48) + 10 * 2 * 4 * 48**2) / 1e9)
    two_beams = decoding(shape, 1, 10, Search(beams=2, length=6, vocabulary=100))
    assert two_beams["gscores"] == pytest.approx(2 * search["gscores"])
    one, two = (probing(shape, 5, Probing(probes, 20, 20, 1, 4)) for probes in (1, 2))
    assert two["gupdates"] == pytest.approx(2 * one["gupdates"])
    assert two["gread"] == one["gread"] == pytest.approx(5 * 4 * 20 * 48 / 1e9)


def test_a_task_of_few_steps_is_planned_with_its_steps(config):
    job = {"run": "paper", "model": "bert-large-uncased", "seed_part": "0"}
    long, short = (workload(config, "tenney2019_probes", job | {"edge_tasks": task}) for task in ("dependencies", "relations"))
    assert long["gread"] == pytest.approx(25 * 19 / 4 * short["gread"])


def test_on_a_gpu_states_are_read_once_as_far_as_they_fit(config):
    job = {"run": "paper", "seed_part": "0"}

    def both(model, tasks):
        wildcards = job | {"model": model, "edge_tasks": tasks}
        return [workload(config, "tenney2019_probes", wildcards, on_gpu) for on_gpu in (False, True)]

    training, development = (config["corpora"][f"ontonotes-edges-{part}"]["limit"] for part in ("train", "dev"))
    # 20 pieces of a sentence; 12 layers, their input, the words alone.
    host, gpu = both("bert-base-uncased", "pos")
    assert gpu["gread"] == pytest.approx((training + development) * 20 * 14 * 768 / 1e9)
    assert gpu["ggathered"] == host["gread"] > 10 * gpu["gread"]
    same = [kind for kind in host if kind not in ("gread", "gactivations", "kblocks")]
    assert [gpu[kind] for kind in same] == [host[kind] for kind in same]
    # 105 kernels of a step, and 55 of its one span.
    assert gpu["kkernels"] == pytest.approx(160 * (host["kblocks"] - gpu["kblocks"]))
    assert gpu["kblocks"] > 0
    # What the forward passes compute stays; they are short.
    assert gpu["gactivations"] + gpu["gprobed"] == pytest.approx(host["gactivations"])
    assert 0 < gpu["gactivations"] < 0.1 * gpu["gprobed"]
    assert not {"ggathered", "gprobed", "kkernels"} & set(host)
    # What does not fit is read in each step.
    host, gpu = both("bert-large-uncased", "pos")
    stored, once = 2 * training * 20 * 26 * 1024, (training + development) * 20 * 26 * 1024 / 1e9
    probes = 25 * len(config["runs"]["paper"]["tenney2019"]["layer0"]) + 3
    bank = 138e9 - 0.8e9 * probes
    assert 0 < bank < stored
    assert gpu["gread"] == pytest.approx((1 - bank / stored) * host["gread"] + once)
    # Of a model with random layers there are two probes, which leave more room.
    host, gpu = both("bert-large-random-1", "pos")
    assert gpu["gread"] == pytest.approx(once)
    # Tasks of one job share the forward passes, but each has a bank.
    host, gpu = both("bert-base-uncased", "pos-entities")
    parts = [both("bert-base-uncased", task)[1] for task in ("pos", "entities")]
    assert gpu["gread"] == pytest.approx(sum(part["gread"] for part in parts))
    assert gpu["ggathered"] == pytest.approx(host["gread"])
    assert gpu["gflop"] < sum(part["gflop"] for part in parts)
    # Jobs without other counts do the same work.
    wildcards = {"run": "paper", "model": "bert-base-glue-mrpc-42", "task": "mrpc"}
    disabled = [workload(config, "kovaleva2019_disabled", wildcards, on_gpu) for on_gpu in (True, False)]
    assert disabled[0] == disabled[1]


def test_a_gpu_trains_a_random_batch_in_fewer_parts(config):
    def both(model):
        wildcards = {"run": "paper", "model": model}
        return [workload(config, "fine_tune", wildcards, on_gpu) for on_gpu in (False, True)]

    host, gpu = both("bert-base-glue-mrpc-42")
    assert gpu["kblocks"] == pytest.approx(host["kblocks"] / 2)
    assert gpu["gactivations"] == pytest.approx(host["gactivations"] * 1.7 / 1.2)
    assert gpu["gupdates"] == host["gupdates"]


def test_gathering_costs_seconds_only_where_it_has_a_speed():
    model = {"seconds": {"other": {"fixed": 2.0}}, "shared": {"gflop": 1.0}}
    assert seconds(model, "x", {"gflop": 3.0, "ggathered": 5.0}) == 5.0
    assert seconds(model | {"shared": {"ggathered": 0.5}}, "x", {"gflop": 3.0, "ggathered": 5.0}) == 4.5


def test_bytes_that_jobs_keep(config):
    shard = {"run": "sample", "model": "minilm", "corpus": "sample-trees", "shard": "0"}
    cells = config["corpora"]["sample-trees"]["limit"] * 72 * 400
    assert disk_of(config, "extract_attention", shard) == (pytest.approx(2 * cells), 0.0, 0.0)
    assert disk_of(config, "clark2019_figure2", {"run": "sample"}) == (0.0, 0.0, 0.0)
    # Maps alone are temporary.
    removing = config | {"keep_attention": False}
    assert disk_of(removing, "extract_attention", shard) == (0.0, pytest.approx(2 * cells), 0.0)
    assert disk_of(removing, "build_examples", shard) == disk_of(config, "build_examples", shard)
    assert disk_of(config, "build_examples", shard).kept > 0


def test_probes_take_room_for_the_states_of_their_targets_while_they_run(config):
    job = {"run": "paper", "model": "bert-large-uncased", "seed_part": "0"}
    sentences = sum(config["corpora"][f"ontonotes-edges-{part}"]["limit"] for part in ("train", "dev"))
    room = {task: disk_of(config, "tenney2019_probes", job | {"edge_tasks": task}) for task in ("pos", "entities")}
    # All pieces of a sentence but its special tokens; float16; 24 layers, their input, the words alone.
    assert room["pos"] == (0.0, 0.0, pytest.approx(sentences * 20 * 26 * 1024 * 2))
    assert 0 < room["entities"].scratch < room["pos"].scratch
    both = disk_of(config, "tenney2019_probes", job | {"edge_tasks": "pos-entities"})
    assert both == room["pos"], "tasks of one job share the states of a corpus"


def test_a_long_training_takes_room_for_two_of_its_states_while_it_runs(config):
    parameters = 24 * 12 * 1024**2  # of the layers
    kept, _, scratch = disk_of(config, "fine_tune", {"run": "paper", "model": "bert-large-mnli"})
    assert scratch == pytest.approx(2 * 3 * kept), "weights and two moments, old and new"
    assert kept == pytest.approx(4 * (parameters + 30522 * 1024), rel=0.02)
    kept, _, scratch = disk_of(config, "fine_tune_by_epoch", {"run": "paper", "model": "marian-iwslt14"})
    assert scratch == pytest.approx(2 * (3 + 8) / (1 + 8) * kept), "and the weights after eight epochs"
    assert disk_of(config, "fine_tune", {"run": "sample", "model": "minilm-squad"}).scratch == 0


def test_the_shipped_coefficients_cover_every_rule_whose_work_is_counted():
    shipped = read_coefficients()
    assert {*measured_rules(), "other"} <= set(shipped["seconds"])
    assert set(shipped["shared"]) == set(SHARED_KINDS)
    assert not any(set(kinds) & set(SHARED_KINDS) for kinds in shipped["seconds"].values())
    assert shipped["measured_on"]


def job(time, threads=1, after=()):
    return Planned("r", time, threads, after)


def test_makespan():
    assert makespan([job(3), job(4)], 1) == 7
    assert makespan([job(3), job(4)], 2) == 4
    assert makespan([job(3), job(4, after=(0,)), job(5, after=(0,))], 2) == 8
    assert makespan([job(3, threads=2), job(4)], 2) == 7
    assert makespan([job(3, threads=9)], 2) == 3
    # Each job waits for its start.
    assert makespan([job(3), job(4, after=(0,))], 2, delay=10) == 27
    assert makespan([], 2) == 0


def test_jobs_wait_for_the_gpu_and_for_room():
    gpu = [Planned("r", 4, 1, (), gpus=1), Planned("r", 3, 1, (), gpus=1), Planned("r", 5, 1, ())]
    assert schedule(gpu, Capacity(8, gpus=1)) == [(0, 4), (4, 7), (0, 5)]
    assert schedule(gpu, Capacity(8)) == [(0, 4), (0, 3), (0, 5)]
    scratch = [Planned("r", 4, 1, (), scratch_bytes=60), Planned("r", 3, 1, (), scratch_bytes=50)]
    assert schedule(scratch, Capacity(8, scratch_bytes=100)) == [(0, 4), (4, 7)]
    maps = [Planned("r", 4, 1, (), temporary_bytes=1), Planned("r", 3, 1, (), temporary_bytes=1), Planned("r", 5, 1, ())]
    assert schedule(maps, Capacity(8, extractions=1)) == [(0, 4), (4, 7), (0, 5)]
    # What is larger than all there is waits for all of it.
    assert schedule([Planned("r", 4, 9, (), scratch_bytes=500)], Capacity(2, scratch_bytes=100)) == [(0, 4)]


def test_jobs_start_in_the_order_of_the_greedy_scheduler():
    jobs = [Planned("r", 9, 1, ()), Planned("r", 2, 1, (), priority=5), Planned("r", 3, 1, (), priority=5)]
    assert schedule(jobs, Capacity(1)) == [(5, 14), (0, 2), (2, 5)]
    # Of jobs with the same priority, first those that free the most temporary files, then those that read the most.
    made = [Planned("r", 1, 1, (), kept_bytes=kept, temporary_bytes=temporary) for kept, temporary in ((9, 0), (1, 0), (1, 2))]
    readers = [Planned("r", 1, 1, (place,), priority=-1) for place in (1, 0, 2)]
    assert [start for start, _ in schedule([*made, *readers], Capacity(1))] == [0, 1, 2, 5, 4, 3]
    # A negative priority waits for those without one.
    assert schedule([Planned("r", 9, 1, (), priority=-0.5), Planned("r", 1, 1, ())], Capacity(1)) == [(1, 10), (0, 1)]


def test_the_peak_of_the_disk_is_not_the_sum():
    one = Planned("cache", 1, 1, (), temporary_bytes=70)
    jobs = [
        one,
        Planned("read", 1, 1, (0,), kept_bytes=5),
        Planned("cache", 1, 1, (1,), temporary_bytes=60, kept_bytes=1),
        Planned("read", 1, 1, (2,), kept_bytes=5, scratch_bytes=20),
    ]
    assert peak_bytes(jobs, schedule(jobs, Capacity(1))) == 5 + 60 + 1 + 5 + 20
    # Side by side both caches are there.
    assert peak_bytes([one, one], schedule([one, one], Capacity(2))) == 140
    assert peak_bytes([one, one], schedule([one, one], Capacity(1))) == 70
    assert peak_bytes([], []) == 0


def test_predictions_of_a_large_task_need_memory_of_their_own(config):
    def megabytes(records):
        """Asked for with so many records."""
        changed = read_configuration(ROOT)
        changed["runs"]["paper"]["kovaleva2019"]["ablated_records"] = records
        place = SimpleNamespace(run="paper", task="qqp", seed="42")
        place.items = lambda: {"run": "paper", "task": "qqp", "seed": "42"}.items()
        return JobResources(resolve(changed)).memory("kovaleva2019_disabled")(place, 1)

    # 469 conditions, of which one is the unchanged model.
    assert megabytes(40_000) - megabytes(10_000) == pytest.approx(30_000 * 468 * 80 / 2**20, abs=2)
    assert megabytes(40_000) > 2900 + 300, "a process with torch and BERT-base, and 19 million rows"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3), st.sets(st.integers(0, 8), max_size=3)), max_size=9))
def test_makespan_lies_between_its_bounds(drawn):
    jobs = [job(t, n, tuple(sorted(a for a in after if a < place))) for place, (t, n, after) in enumerate(drawn)]
    chain = [0.0] * len(jobs)
    for place, one in enumerate(jobs):
        chain[place] = one.seconds + max((chain[a] for a in one.after), default=0)
    for processors in (1, 2, 4):
        duration = makespan(jobs, processors)
        area = sum(one.seconds * min(one.threads, processors) for one in jobs) / processors
        assert max([area, *chain], default=0) <= duration + 1e-9
        assert duration <= sum(one.seconds for one in jobs) + 1e-9


def test_memory_grows_with_shapes(config):
    small, large = config["models"]["minilm"], config["models"]["bert-base-uncased"]
    corpus = config["corpora"]["wikitext2-segments"]
    for memory in (extraction_memory, gradient_memory):
        assert memory(small, corpus) < memory(large, corpus)
        assert memory(large, corpus) < memory(large, corpus | {"max_tokens": 512})
    # The maps of a batch are in memory, however many records a shard has.
    assert extraction_memory(large, corpus | {"shard": 2 * corpus["shard"]}) == extraction_memory(large, corpus)
    maps = 2 * 2048 * 144 * corpus["max_tokens"] / 2**20
    layer = 4 * 4 * 2048 * 12 * corpus["max_tokens"] / 2**20
    more = extraction_memory(large, corpus | {"max_tokens": 2 * corpus["max_tokens"]}) - extraction_memory(large, corpus)
    assert more == pytest.approx(maps + layer, abs=1)
