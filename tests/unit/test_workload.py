"""Work of jobs by shapes, the fit of seconds to it, and how long a plan takes."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.workflow.config import read_configuration, resolve
from attention_atlas.workflow.cost_model import fit, measured_rules, read_coefficients, seconds, workload
from attention_atlas.workflow.costs import Shape, extraction_memory, gradient_memory
from attention_atlas.workflow.plan import Planned, makespan

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
    states = workload(config, "cache_hidden_states", shard | {"corpus": "sample-edges"})["gstates"]
    assert states == pytest.approx(config["corpora"]["sample-edges"]["shard"] * 20 * (6 + 1) * 384 / 1e9)
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
    job = {"run": "sample", "model": "minilm"}
    one, two = (workload(config, "tenney2019_probes", job | {"edge_tasks": tasks}) for tasks in ("pos", "pos-roles"))
    assert one["kprobed"] > 0
    assert two["kprobed"] == pytest.approx(2 * one["kprobed"])
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
    coefficients = {"clark2019_surface": {"fixed": 1.0, "gcells": 2.0}, "other": {"fixed": 3.0}}
    work = workload(config, "clark2019_surface", run)
    assert seconds(coefficients, "clark2019_surface_variant", work) == seconds(coefficients, "clark2019_surface", work)
    assert seconds(coefficients, "never_measured", {}) == 3.0


def test_the_fit_finds_what_made_the_numbers():
    measured = [("a", {"gflop": g, "gcells": c}, 2 + 0.5 * g + 3 * c) for g, c in itertools.product([1, 5, 20], [0, 2, 9])]
    measured += [("b", {}, 1.0), ("c", {}, 3.0)]
    coefficients = fit(measured)
    assert coefficients["a"] == pytest.approx({"fixed": 2, "gflop": 0.5, "gcells": 3})
    assert coefficients["other"] == {"fixed": 2.0}
    assert all(value >= 0 for rule_coefficients in coefficients.values() for value in rule_coefficients.values())


def test_the_shipped_coefficients_cover_every_rule_whose_work_is_counted():
    shipped = read_coefficients()
    assert {*measured_rules(), "other"} <= set(shipped["seconds"])
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
