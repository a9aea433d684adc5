"""Caches of a run: what they hold, which jobs need them, and what is removed."""

from __future__ import annotations

import pytest
from snakemake.io import temp

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.built import built_studies
from attention_atlas.workflow.caches import ATTENTION, HIDDEN, WEIGHTS, attention_output, caches, remove, use_of
from attention_atlas.workflow.studies import studies
from tools.cache import lines, state, used_caches


@pytest.fixture
def folder(tmp_path):
    """A workflow with the caches of a run."""
    results = tmp_path / "results" / "one"
    for path, size in {
        "attention/small/text/0.safetensors": 3000,
        "attention/small/text/0.json": 10,
        "attention/small/other/0.safetensors": 20,
        "hidden/small/text/0.safetensors": 500,
        "models/tuned/checkpoint/model.safetensors": 4000,
        "models/tuned/checkpoint/config.json": 7,
        "models/tuned/epochs.safetensors": 1000,
        "models/small/card.json": 5,
        "clark2019/table1.tsv": 9,
    }.items():
        (results / path).parent.mkdir(parents=True, exist_ok=True)
        (results / path).write_bytes(bytes(size))
    return tmp_path


def test_caches_are_listed_by_model_and_corpus_with_their_size(folder):
    listed = [(cache.kind, cache.model, cache.corpus, len(cache.files), cache.size) for cache in caches(folder, "one")]
    assert listed == [
        (WEIGHTS, "tuned", "", 2, 5000),
        (ATTENTION, "small", "text", 2, 3010),
        (HIDDEN, "small", "text", 1, 500),
        (ATTENTION, "small", "other", 1, 20),
    ]


def test_what_a_job_to_do_reads_or_makes_stays(folder):
    by_name = {(cache.kind, cache.corpus): cache for cache in caches(folder, "one")}
    text, rest = by_name[ATTENTION, "text"], by_name[ATTENTION, "other"]
    shard = "results/one/attention/small/text/0.safetensors"
    outputs = {shard, "results/one/clark2019/table1.tsv"}
    read = use_of(text, [("clark2019_table1", (shard,), ("results/one/clark2019/table1.tsv",))], outputs)
    assert not read.removable
    assert state(read) == "needed by pending jobs of clark2019_table1"
    made = use_of(text, [("extract_attention", (), (shard,))], outputs)
    assert not made.removable
    assert state(made) == "will be rebuilt by extract_attention"
    unused = use_of(text, [("clark2019_table1", ("results/one/examples/0.parquet",), ())], outputs)
    assert unused.removable
    assert state(unused) == "can be removed"
    assert state(use_of(rest, [], outputs)) == "can be removed: no longer part of the run"


def test_a_cache_is_removed_with_its_folders_and_nothing_else(folder):
    results = folder / "results" / "one"
    for cache in caches(folder, "one"):
        if cache.kind != HIDDEN:
            remove(folder, cache)
    assert not (results / "attention").exists() or not list((results / "attention").iterdir())
    assert (results / "models/tuned/checkpoint/config.json").is_file()
    assert (results / "models/small/card.json").is_file()
    assert (results / "hidden/small/text/0.safetensors").is_file()
    assert [cache.kind for cache in caches(folder, "one")] == [HIDDEN]


def test_the_table_is_aligned(folder):
    cache = caches(folder, "one")[0]
    head, row = lines([(cache, use_of(cache, [], ()))])
    assert head.index("state") == row.index("can be removed")
    assert head.index("files") + len("files") == row.index("2") + 1


def test_a_run_without_results_is_named(tmp_path):
    with pytest.raises(AtlasError, match="the run two has not been built here"):
        used_caches("two", [], tmp_path)


def test_a_study_has_the_tables_that_are_up_to_date(tmp_path):
    study = studies()["clark2019"]
    table, figure = study.artifact("table1"), study.artifact("figure2")
    outputs = {*study.paths(table, "one"), *study.paths(figure, "one"), study.path("comparison.tsv", "one")}
    for path in outputs:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()

    def built(to_do):
        (listed,) = built_studies(tmp_path, "one", outputs, to_do)
        return listed

    whole = built(set())
    assert (whole.study, set(whole.built), whole.absent) == ("clark2019", {"table1", "figure2"}, ())
    assert whole.comparison == tmp_path / "results/one/clark2019/comparison.tsv"
    assert whole.claims is None, "no job of this run writes it"
    part = built({study.path("figure2.svg", "one"), study.path("comparison.tsv", "one")})
    assert (part.built, part.absent, part.comparison) == (("table1",), ("figure2",), None)
    (tmp_path / study.path("table1.html", "one")).unlink()
    assert built(set()).absent == ("table1",), "a file that a failed job has taken away"


@pytest.mark.parametrize(("keep", "flags"), [(True, {}), (False, {"temp": True})])
def test_maps_are_temporary_where_the_run_does_not_keep_attention(keep, flags):
    path = "results/{run}/attention/{model}/{corpus}/{shard}.safetensors"
    output = attention_output(path, {"keep_attention": keep}, temp)
    assert output == path
    assert getattr(output, "flags", {}) == flags
