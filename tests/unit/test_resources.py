"""What jobs ask a scheduler for, and the size of attention caches."""

import shutil
from types import SimpleNamespace

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.workflow import resources
from attention_atlas.workflow.resources import cache_bytes, disk_shortage, forecast, memory, minutes, pending
from attention_atlas.workflow.shared_inputs import SharedInputs
from attention_atlas.workflow.study_inputs import StudyInputs

PLACE = ("sample", "minilm", "sample-trees")


def test_fixed_amounts_grow_with_each_attempt():
    for resource in (memory(700), minutes(700)):
        assert [resource(wildcards(), attempt) for attempt in (1, 2, 3)] == [700, 1400, 2100]


@pytest.mark.parametrize(
    "megabytes",
    [
        lambda config: SharedInputs(config).path_memory,
        lambda config: StudyInputs(config, "clark2019").model_memory(),
        lambda config: StudyInputs(config, "clark2019").map_memory("dependencies", 2000),
    ],
)
def test_memory_grows_with_each_attempt_and_with_the_model(megabytes):
    place = wildcards("sample", model="minilm", corpus="sample-trees")
    first, second = (megabytes(shipped())(place, attempt) for attempt in (1, 2))
    assert second == 2 * first > 1000
    config = shipped_copy()
    for model in config["models"].values():
        model["hidden_size"] *= 4
        model["heads"] *= 4
    assert megabytes(config)(place, 1) > first


@pytest.mark.parametrize(("device", "here", "asked"), [("cuda", 0, 1), ("cpu", 1, 0), ("auto", 1, 1), ("auto", 0, 0)])
def test_a_gpu_is_asked_for_where_one_is_wanted_or_here(monkeypatch, device, here, asked):
    monkeypatch.setattr(resources, "gpu_here", lambda: bool(here))
    assert resources.gpus({"device": device}) == asked


def test_the_forecast_is_the_size_of_the_maps(monkeypatch):
    config = shipped()
    model, corpus = config["models"]["minilm"], config["corpora"]["sample-trees"]
    # Two bytes for each cell of the maps of 6 layers of 12 heads.
    assert cache_bytes(model, 10, 20) == 2 * 10 * 6 * 12 * 20 * 20
    records = min(corpus["limit"], config["runs"]["sample"]["limits"].get("sample-trees", corpus["limit"]))
    line, needed = forecast(config, [PLACE])
    assert needed == cache_bytes(model, records, corpus.get("mean_tokens", corpus["max_tokens"]))
    assert line.startswith(f"attention maps to extract: about {needed / 1e9:.1f} GB")
    assert forecast(config, []) == ("", 0.0)
    free = SimpleNamespace(free=needed / 2)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: free)
    assert "larger disk" in disk_shortage(config, needed)
    assert disk_shortage(config, needed / 3) == ""


def test_only_extractions_write_maps():
    def job(rule):
        return SimpleNamespace(
            rule=SimpleNamespace(name=rule), wildcards=wildcards(*PLACE[:1], model=PLACE[1], corpus=PLACE[2])
        )

    assert pending([job("extract_attention"), job("clark2019_table1")]) == {PLACE}
