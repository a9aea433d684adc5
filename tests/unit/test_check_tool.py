"""What `make check` compares with the machine: memory by profile, and disk by the plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_config import SMALL, changed, give_model

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.machine import machine_megabytes
from tools import check
from tools.check import PROFILE, ROOT, bytes_in, memory_limit
from tools.plan import Job, _anywhere, peak_of


def profile(folder: Path, text: str) -> Path:
    (folder / "profile.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("resources: [gpu=1, mem_mb=700]\n", 700),
        ("resources: {mem_mb: 800}\n", 800),
        ("executor: slurm\nresources: [mem_mb=700]\n", 0),
        ("executor: local\n", machine_megabytes()),
        ("", machine_megabytes()),
    ],
)
def test_the_limit_of_memory_is_that_of_the_profile_or_of_the_machine(tmp_path, text, megabytes):
    assert memory_limit(profile(tmp_path, text)) == megabytes


def test_the_shipped_profiles():
    assert memory_limit(PROFILE) == machine_megabytes()
    assert memory_limit(ROOT / "workflow/profiles/slurm") == 0, "the memory of nodes is not known here"


def test_a_profile_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(AtlasError, match="nowhere: this folder has no Snakemake profile"):
        memory_limit(tmp_path / "nowhere")
    with pytest.raises(AtlasError, match=r"profile\.yaml: resources: mem_mb=64G: write a number of megabytes"):
        memory_limit(profile(tmp_path, "resources: [mem_mb=64G]\n"))


def test_the_peak_of_the_disk_counts_maps_that_are_removed_only_while_they_are_read():
    def job(rule, inputs, outputs, **wildcards):
        return Job(rule, {"run": "one", **wildcards}, inputs, outputs, f"{outputs[0]}.log", f"{outputs[0]}.b", 1, 0, 1000, 0.0)

    corpora = ("trees", "pairs")
    made = [job("extract_attention", (), (f"{name}.maps",), model="tiny", corpus=name, shard="0") for name in corpora]
    readers = [job("clark2019_table1", (f"{name}.maps",), (f"{name}.tsv",)) for name in corpora]
    config = resolve(changed("corpora/trees/source", {"sample": "sd.conllu"}))
    kept = peak_of(config, [*made, *readers])
    removed = peak_of(config | {"keep_attention": False}, [*made, *readers])
    assert 0 < removed <= kept
    assert peak_of(config, [*readers]) == 0


def test_what_is_built_is_not_needed_again(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "maps").write_bytes(bytes(70))
    (tmp_path / "table").write_bytes(bytes(30))
    assert bytes_in(tmp_path) == 100
    assert bytes_in(tmp_path / "nowhere") == 0


def test_a_plan_in_another_folder_has_the_shapes_of_the_models_here(without_files, monkeypatch):
    give_model(without_files, SMALL["models"]["tiny"])
    place = without_files / "models" / "tiny" / "config.json"
    place.write_text('{"num_hidden_layers": 48, "num_attention_heads": 32, "hidden_size": 4096}', encoding="utf-8")
    raw = changed("models/tiny", {"source": SMALL["models"]["tiny"]["source"]}) | {"data_mirror": "mirror"}
    assert _anywhere(raw)["corpora"] == raw["corpora"]
    (without_files / "nowhere").mkdir()
    (without_files / "nowhere" / "trees.conllu").touch()
    moved = _anywhere(raw)
    assert moved["corpora"]["trees"]["source"] == {"path": str(without_files / "nowhere" / "trees.conllu")}
    assert moved["models"]["tiny"] == raw["models"]["tiny"] | {"layers": 48, "heads": 32, "hidden_size": 4096}
    assert moved["data_mirror"] == str(without_files / "mirror")


def test_what_is_skipped_is_not_planned(without_files, monkeypatch):
    planned = []
    monkeypatch.setattr(check, "planned_jobs", lambda run, configuration, absent: planned.append(set(absent)) or [])
    monkeypatch.setattr(check, "read_configuration", lambda root, overlays: SMALL)
    assert check.check_run("one", [], None, PROFILE).failures
    assert check.check_run("one", [], "skip", PROFILE).failures == []
    assert planned == [set(), {"trees", "tiny"}]
