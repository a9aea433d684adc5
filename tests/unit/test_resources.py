"""What jobs ask a scheduler for: memory, minutes, threads, GPUs, by the shapes of models and corpora."""

import pytest
import yaml
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.methods.head_type_names import TYPES
from attention_atlas.studies.guan2020.conditions import conditions
from attention_atlas.workflow import resources
from attention_atlas.workflow.cost_model import is_model_bound, measured_as, workload
from attention_atlas.workflow.costs import Shape
from attention_atlas.workflow.resources import SMALL_FLOP, JobResources, memory, minutes
from attention_atlas.workflow.shared_jobs import SHARED_JOBS
from attention_atlas.workflow.studies import studies
from tools.plan import EXTRACTIONS, ROOT

STUDIES = [study for study in studies().values() if study.id in shipped()["runs"]["sample"]]
JOBS = {f"{study.id}_{name}": job for study in STUDIES for name, job in study.jobs.items()} | SHARED_JOBS
"""Jobs of the shared rules and of the studies that the sample run has."""
PLACES = {
    **{"build_examples": {"model": "minilm", "corpus": "sample-trees", "shard": 0}},
    **{"extract_attention": {"model": "minilm", "corpus": "sample-trees", "shard": 0}},
    **{"mlm_head": {"model": "minilm", "corpus": "sample-segments"}},
    **{"fine_tune": {"model": "minilm-squad"}, "fine_tune_by_epoch": {"model": "marian-sample"}},
    **{
        "clark2019_probes": {"model": "minilm"},
        "atlas_of_model": {"model": "minilm"},
        "atlas_random_scores": {"model": "minilm"},
        "atlas_head_scores": {"model": "minilm"},
        "atlas_relations": {"model": "minilm"},
        "atlas_attended": {"model": "minilm"},
        "atlas_attended_generated": {"model": "minilm"},
    },
    **{"clark2019_surface_variant": {"variant": "recipe"}, "clark2019_dependencies_variant": {"variant": "segment_ids"}},
    **{"guan2020_features": {"model": "minilm", "corpus": "sample-mrpc"}, "guan2020_ablations": {"shard": 0}},
    **{f"kovaleva2019_{name}": {"task": "rte", "seed": 42} for name in ("predictions", "measures", "disabled")},
    **{f"michel2019_{name}": {"experiment": "translation", "curve_part": 0} for name in ("heldout", "gradients", "pruned")},
    **{"michel2019_masked": {"experiment": "translation", "mask_part": 0}},
    **{"tenney2019_probes": {"model": "minilm", "edge_tasks": "pos-roles", "seed_part": 0}},
    **{"stefanik2021_removal": {"model": "minilm-keyphrases-keyphrases-42"}},
}
"""Wildcards of a job of each rule in the sample run, beside the run."""


def named(run: str = "sample", **names: object) -> dict[str, str]:
    """Wildcards as the cost model takes them."""
    return dict(wildcards(run, **names).items())


def test_fixed_amounts_grow_with_each_attempt():
    for resource in (memory(700), minutes(700)):
        assert [resource(wildcards(), attempt) for attempt in (1, 2, 3)] == [700, 1400, 2100]


@pytest.mark.parametrize("rule", sorted(name for name, job in JOBS.items() if job.memory))
def test_memory_grows_with_each_attempt_and_with_the_width_of_the_model(rule):
    # The sample run is on generated text and names none of its own for published pages.
    place = wildcards("laptop" if "generated" in rule else "sample", **PLACES.get(rule, {}))
    first, second = (JobResources(shipped()).memory(rule)(place, attempt) for attempt in (1, 2))
    assert second == 2 * first > 1000
    config = shipped_copy()
    for model in config["models"].values():
        model["hidden_size"] *= 4
        model["heads"] *= 4
    assert JobResources(config).memory(rule)(place, 1) > first


def test_minutes_are_those_of_a_shards_forward_passes():
    place = wildcards("laptop", model="minilm", corpus="ewt-dev", shard=0)
    flop = 512 * Shape(6, 12, 384).forward_flop(128)
    assert JobResources(shipped()).minutes("extract_attention")(place, 1) == int(10 + flop / 5e9 / 60)
    assert JobResources(shipped()).minutes("extract_attention")(place, 3) == 3 * int(10 + flop / 5e9 / 60)


def test_a_second_thread_begins_where_it_gains_something():
    config = shipped_copy()
    example_flop = Shape(6, 12, 384).forward_flop(20)
    place = wildcards(model="minilm", corpus="sample-trees", shard=0)
    for examples, threads in ((int(SMALL_FLOP / example_flop), 1), (int(SMALL_FLOP / example_flop) + 1, 2)):
        config["corpora"]["sample-trees"]["shard"] = examples
        assert JobResources(config).threads("extract_attention")(place) == threads
    # All jobs of the sample run are small; one of the paper run is not.
    asking = [rule for rule, job in JOBS.items() if job.passes]
    assert {JobResources(shipped()).threads(rule)(wildcards(**PLACES.get(rule, {}))) for rule in asking} == {1}
    large = wildcards("paper", experiment="classification", curve_part=0)
    assert JobResources(shipped()).threads("michel2019_pruned")(large) == 4
    smaller = wildcards("paper", task="stsb", seed=42, model="bert-base-glue-stsb-42")
    assert JobResources(shipped()).threads("kovaleva2019_disabled")(smaller) == 2


@pytest.mark.parametrize(
    ("device", "here", "gpus"),
    [("cpu", True, 0), ("cpu", False, 0), ("auto", False, 0), ("auto", True, 1), ("cuda", False, 1), ("cuda", True, 1)],
)
def test_gpus_are_asked_for_as_the_configuration_says(monkeypatch, device, here, gpus):
    monkeypatch.setattr(resources, "gpu_here", lambda: here)
    jobs = JobResources(shipped() | {"device": device})
    for rule in ("extract_attention", "clark2019_gradients", "kovaleva2019_patterns"):
        assert jobs.gpus(rule) == gpus


@pytest.mark.parametrize(("kept", "extractions"), [(True, 0), (False, 1)])
def test_extractions_are_limited_where_their_maps_are_removed(kept, extractions):
    assert JobResources(shipped() | {"keep_attention": kept}).extractions() == extractions
    limits = yaml.safe_load((ROOT / "workflow/profiles/slurm/profile.v9+.yaml").read_text(encoding="utf-8"))["resources"]
    assert limits == [f"extractions={EXTRACTIONS}"]


@pytest.mark.parametrize("rule", ["clark2019_surface", "build_examples", "clark2019_table1", "sample_corpus"])
def test_a_rule_that_is_not_declared_to_run_on_a_gpu_cannot_ask_for_one(rule):
    with pytest.raises(KeyError, match=f"{rule}: its jobs are not declared to run on a GPU"):
        JobResources(shipped()).gpus(rule)


def test_a_rule_of_which_nothing_is_declared_cannot_ask_for_anything():
    jobs = JobResources(shipped())
    for ask in (lambda: jobs.memory("clark2019_table1")(wildcards(), 1), lambda: jobs.threads("sample_corpus")(wildcards())):
        with pytest.raises(KeyError, match="the declaration of its jobs has no"):
            ask()


@pytest.mark.parametrize(("random_sets", "permutations"), [(1, 0), (3, 2)])
def test_the_work_of_ablations_is_that_of_their_conditions(random_sets, permutations):
    config = shipped_copy()
    config["runs"]["sample"]["guan2020"]["ablations"] |= {"random_sets": random_sets, "permutations": permutations}
    # One head of each type in each layer of many: there are enough others for every row.
    types = {(0, head): name for head, name in enumerate(TYPES)}
    # Every condition, and the unchanged model.
    passes = len(conditions(types, 8, random_sets, permutations, "stops", False, 0)) + 1
    work = workload(config, "guan2020_ablations", named())
    questions = config["corpora"]["sample-questions"]["limit"]
    assert work["gactivations"] == pytest.approx(questions * passes * 100 * 6 * 384 / 1e9)
    assert work["gflop"] == pytest.approx(questions * passes * Shape(6, 12, 384).forward_flop(100) / 1e9)


def test_a_job_of_one_shard_counts_its_own_records():
    config = shipped_copy()
    config["corpora"]["xquad-en"]["limit"] = 200
    answered = [workload(config, "guan2020_ablations", named("laptop", shard=shard))["gflop"] for shard in range(3)]
    assert answered[0] == answered[1] == pytest.approx(2 * answered[2])
    # Shards of examples and of attention are always whole.
    place = {"model": "minilm", "corpus": "xquad-en", "shard": 2}
    assert workload(config, "build_examples", named("laptop", **place)) == {"records": 80}


@pytest.mark.parametrize(
    ("rule", "variant", "role", "corpus"),
    [
        ("clark2019_surface", "recipe", "segments", "sample-segments-clean"),
        ("clark2019_surface", "segment_ids", "segments", "sample-segments-pair"),
        ("clark2019_dependencies", "casing", "dependencies", "sample-trees"),
    ],
)
def test_a_variant_takes_what_its_rule_would_take_on_the_same_model_and_corpus(rule, variant, role, corpus):
    config = shipped_copy()
    config["runs"]["sample"]["clark2019"]["variants"]["casing"] = "bert-base-cased"
    same = shipped_copy()
    same["runs"]["sample"]["clark2019"][role] = corpus
    if variant == "casing":
        same["runs"]["sample"]["clark2019"]["model"] = "bert-base-cased"
    place = wildcards(variant=variant)
    work = workload(config, f"{rule}_variant", named(variant=variant))
    assert work == workload(same, rule, named()) != {}
    assert JobResources(config).memory(f"{rule}_variant")(place, 1) == JobResources(same).memory(rule)(wildcards(), 1)
    assert measured_as(f"{rule}_variant") == rule == measured_as(rule)


def test_what_a_gpu_takes_over():
    assert {rule for rule in JOBS if is_model_bound(rule)} <= {rule for rule, job in JOBS.items() if job.gpu}
    assert is_model_bound("extract_attention")
    # Fits on a processor take most of the time.
    assert not is_model_bound("clark2019_head_distances")
    assert not is_model_bound("clark2019_table1")


def test_attention_that_is_not_kept_is_extracted_for_one_model_and_corpus_after_another():
    names = [("minilm", "sample-trees"), ("minilm", "sample-questions"), ("minilm-squad", "sample-trees")]
    places = [wildcards("sample", model=model, corpus=corpus, shard=shard) for model, corpus in names for shard in (0, 1)]

    def priorities(keep):
        jobs = JobResources(shipped() | {"keep_attention": keep})
        return [jobs.extraction_priority(place) for place in places]

    assert set(priorities(True)) == {0}
    removing = priorities(False)
    assert removing[::2] == removing[1::2], "shards of one model and corpus are alike"
    assert len(set(removing)) == 3
    assert all(-1 < priority <= 0 for priority in removing)
