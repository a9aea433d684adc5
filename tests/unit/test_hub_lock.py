"""The lock file, and what it does to the configuration and to the parameters of jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from shipped_runs import wildcards
from small_config import SHIPPED, changed, sentence
from tiny_models import HEADS, LAYERS, WIDTH, tiny

from attention_atlas.errors import AtlasError
from attention_atlas.io import hub_files
from attention_atlas.io.hub_lock import (
    DATASETS,
    LOCK_PLACE,
    LOCK_VARIABLE,
    MODELS,
    SHAPE,
    commit_of,
    locked,
    read_lock,
    record,
    replacing_commit,
)
from attention_atlas.io.mirror import MIRROR_VARIABLE
from attention_atlas.workflow.config import resolve
from attention_atlas.workflow.inputs.shared import SharedInputs
from tools.lock import repositories

FIRST, SECOND = "1" * 40, "2" * 40
NAMED = {"hub": "a/b"}
FACTS = {"layers": 2, "heads": 4, "hidden_size": 8, "longest_input": 30}


@pytest.fixture(autouse=True)
def lock_file(without_files, monkeypatch):
    monkeypatch.setenv(LOCK_VARIABLE, str(without_files / "lock" / "lock.yaml"))
    monkeypatch.setenv("HF_HUB_CACHE", str(without_files / "hub_cache"))
    return without_files / "lock" / "lock.yaml"


def resolved_to(commit: str, kind: str = MODELS, source: dict | None = None, **options: bool) -> dict:
    return record(kind, source or NAMED, lambda: {"commit": commit, **(FACTS if kind == MODELS else {})}, **options)


def test_a_repository_is_resolved_once(lock_file):
    assert read_lock() == {}
    assert resolved_to(FIRST)["commit"] == FIRST
    assert resolved_to(SECOND)["commit"] == FIRST
    assert resolved_to(SECOND, source=NAMED | {"revision": "v2"})["commit"] == SECOND
    resolved_to(SECOND, DATASETS)
    assert read_lock()[MODELS]["a/b"] == {"main": {"commit": FIRST, **FACTS}, "v2": {"commit": SECOND, **FACTS}}
    assert commit_of(read_lock(), DATASETS, NAMED) == SECOND
    assert commit_of(read_lock(), MODELS, {"hub": "a/b", "revision": "3" * 40}) == "3" * 40
    assert commit_of(read_lock(), MODELS, {"hub": "a/c"}) is None
    assert lock_file.read_text(encoding="utf-8").startswith("# Written by the jobs that fetch")


def test_only_a_refreshed_commit_is_a_new_parameter():
    assert replacing_commit(read_lock(), MODELS, NAMED) == ""
    resolved_to(FIRST)
    # What was made before the commit was known stays valid.
    assert replacing_commit(read_lock(), MODELS, NAMED) == ""
    resolved_to(FIRST, refresh=True)
    assert replacing_commit(read_lock(), MODELS, NAMED) == ""
    resolved_to(SECOND, refresh=True)
    assert locked(read_lock(), MODELS, NAMED)["replaces"] == FIRST
    assert replacing_commit(read_lock(), MODELS, NAMED) == SECOND
    resolved_to(SECOND, refresh=True)
    assert replacing_commit(read_lock(), MODELS, NAMED) == SECOND
    # A commit in the registry is a parameter already.
    assert replacing_commit(read_lock(), MODELS, NAMED | {"revision": SECOND}) == ""


def test_parameters_of_jobs_do_not_change_when_a_commit_is_recorded():
    stated = changed("models/tiny/heads", 4, changed("models/tiny/layers", 2, changed("models/tiny/hidden_size", 8)))
    raw = changed("models/tiny/source", NAMED, stated)

    def parameters() -> tuple[dict, str]:
        inputs, job = SharedInputs(resolve(raw)), wildcards("one", model="tiny")
        return inputs.model_entry(job), inputs.replacing_commit(job)

    before = parameters()
    resolved_to(FIRST)
    assert parameters() == before
    resolved_to(SECOND, refresh=True)
    assert parameters() == (before[0], SECOND)


@pytest.mark.parametrize(
    "content", ["- a", "models: 3", "models: {a/b: {main: {commit: main}}}", "models: {a/b: {main: {}}}", "other: {}", "a: ["]
)
def test_a_damaged_lock_file_is_one_sentence(lock_file, content):
    lock_file.parent.mkdir()
    lock_file.write_text(
        content if content != "other: {}" else f"other: {{a/b: {{main: {{commit: '{FIRST}'}}}}}}", encoding="utf-8"
    )
    with pytest.raises(AtlasError, match="this is not a lock file") as caught:
        read_lock()
    assert str(lock_file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_lock_file_that_cannot_be_written_is_one_sentence(lock_file):
    lock_file.parent.write_text("a file where a folder is needed", encoding="utf-8")
    with pytest.raises(AtlasError, match=f"the commit of a/b cannot be recorded here.*{LOCK_VARIABLE}"):
        resolved_to(FIRST)


# --- shapes -----------------------------------------------------------------------------------------------------------


def shape(source: dict, **stated: int) -> dict[str, int]:
    raw = changed("models/tiny", {"source": source, **stated})
    return {key: resolve(raw)["models"]["tiny"][key] for key in SHAPE}


def test_a_model_of_the_hub_needs_its_source_alone_once_it_is_locked():
    raw = changed("models/tiny", {"source": NAMED})
    assert sentence(raw) == (
        "config: models.tiny: the shape of a/b is not known yet: run `make lock MODEL=tiny` on a machine with a network (with "
        'ARGS="--configfile mine.yaml" if an overlay names the model), or state layers, heads and hidden_size.'
    )
    assert shape(NAMED, layers=3, heads=6) == {"layers": 3, "heads": 6, "hidden_size": 384}
    resolved_to(FIRST)
    assert shape(NAMED) == {"layers": 2, "heads": 4, "hidden_size": 8}
    message = sentence(changed("models/tiny", {"source": NAMED, "layers": 3}))
    assert message.startswith("config: models.tiny.layers: 3 contradicts config/lock.yaml, which says 2.")


def places(folder: Path) -> dict[str, Path]:
    return {
        "the folder models": folder / "models" / "b",
        "the mirror": folder / "mirror" / "hub" / "models" / "a" / "b",
        "the hub's cache": folder / "hub_cache" / "models--a--b" / "snapshots" / FIRST,
    }


@pytest.mark.parametrize("place", places(Path()))
def test_files_at_hand_say_the_shape_before_the_lock_file(without_files, monkeypatch, place):
    resolved_to(FIRST)
    monkeypatch.setenv(MIRROR_VARIABLE, str(without_files / "mirror"))
    tiny("distilbert").save_pretrained(places(without_files)[place])
    expected = {"layers": LAYERS, "heads": HEADS, "hidden_size": WIDTH}
    assert shape(NAMED) == expected
    pinned = NAMED | {"revision": FIRST}
    if place == "the folder models":
        # It need not be that commit.
        assert "the shape of a/b is not known yet" in sentence(changed("models/tiny", {"source": pinned}))
    else:
        assert shape(pinned) == expected


def test_fine_tuned_models_have_the_shape_of_their_base():
    resolved_to(FIRST)
    raw = changed("models/tiny", {"source": NAMED})
    raw["corpora"]["questions"] = {"reader": "squad", "source": {"path": "q.json"}, "limit": 10}
    raw["models"]["tuned"] = {"source": {"fine_tuned": "tiny"}, "training": {"task": "questions", "corpus": "questions"}}
    tuned = resolve(raw)["models"]["tuned"]
    assert {key: tuned[key] for key in SHAPE} == {"layers": 2, "heads": 4, "hidden_size": 8}


# --- where files are --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("repository", ["a/b", "gpt2"])
def test_the_hubs_cache_is_where_its_library_has_it(tmp_path, repository):
    code = (
        "import huggingface_hub.constants as c, huggingface_hub.file_download as f, os\n"
        "from pathlib import Path\n"
        "from attention_atlas.io.hub_files import _cached\n"
        f"kept = Path(c.HF_HUB_CACHE, f.repo_folder_name(repo_id={repository!r}, repo_type='model'))\n"
        f"assert _cached('models', {repository!r}) == kept, kept\n"
    )
    library = str(Path(hub_files.__file__).parents[2])
    for variables in (
        {},
        {"HF_HOME": str(tmp_path / "x")},
        {"HF_HUB_CACHE": str(tmp_path / "y")},
        {"HUGGINGFACE_HUB_CACHE": str(tmp_path / "z")},
        {"XDG_CACHE_HOME": str(tmp_path / "w")},
    ):
        environment = {"PATH": "/usr/bin", "HOME": str(tmp_path), "PYTHONPATH": library, **variables}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def noted_download(folder: Path, commit: str, files: dict[str, bytes]) -> None:
    """A folder as `hf download --local-dir` leaves it."""
    for name, content in files.items():
        notes = folder / ".cache" / "huggingface" / "download"
        notes.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        etag = hub_files._git_checksum(folder / name)
        (notes / f"{name}.metadata").write_text(f"{commit}\n{etag}\n1.0\n", encoding="utf-8")


def test_the_mirror_is_checked_by_what_was_noted_when_it_was_downloaded(without_files, monkeypatch):
    monkeypatch.setenv(MIRROR_VARIABLE, str(without_files / "mirror"))
    folder = places(without_files)["the mirror"]
    noted_download(folder, FIRST, {"config.json": json.dumps({"n_layer": 1}).encode(), "notes.txt": b"x"})
    pinned = NAMED | {"revision": FIRST}
    assert hub_files.fetch(MODELS, pinned, ["*"]) == folder
    with pytest.raises(AtlasError, match=f"this is a/b at commit {FIRST[:8]}, but {SECOND[:8]} is needed"):
        hub_files.fetch(MODELS, NAMED | {"revision": SECOND}, ["*"])
    (folder / "notes.txt").write_bytes(b"y")
    with pytest.raises(AtlasError, match=r"notes\.txt: wrong checksum"):
        hub_files.fetch(MODELS, pinned, ["*"])


def test_notes_of_a_download_are_those_that_the_hubs_library_writes(tmp_path):
    from huggingface_hub._local_folder import write_download_metadata

    (tmp_path / "config.json").write_bytes(b"{}")
    write_download_metadata(tmp_path, "config.json", FIRST, hub_files._git_checksum(tmp_path / "config.json"))
    assert hub_files.placed_commit(tmp_path) == FIRST
    hub_files.check_placed_files(tmp_path)


# --- make lock --------------------------------------------------------------------------------------------------------


def test_make_lock_looks_up_what_names_no_commit():
    named = {source["hub"] for kind, source in repositories(SHIPPED) if kind == MODELS and "revision" not in source}
    assert {"google-bert/bert-large-uncased", "Helsinki-NLP/opus-mt-en-fr"} <= named
    # Each repository once, though several entries have it.
    assert len([source for _, source in repositories(SHIPPED) if source["hub"] == "google-bert/bert-large-uncased"]) == 1
    (only,) = repositories(SHIPPED, models=["bert-large-uncased"])
    assert only == (MODELS, {"hub": "google-bert/bert-large-uncased"})
    (only,) = repositories(SHIPPED, corpora=["wikipedia-segments"])
    assert only[1]["hub"] == "wikimedia/wikipedia"
    with pytest.raises(AtlasError, match="there is no model 'bert-larg-uncased'; did you mean 'bert-large-uncased'"):
        repositories(SHIPPED, models=["bert-larg-uncased"])
    with pytest.raises(AtlasError, match=r"models\.minilm: its files are not taken from the hub"):
        repositories(SHIPPED, models=["minilm"])


def test_the_shipped_lock_file_has_the_commits_of_the_registries():
    lock = read_lock(Path(__file__).parents[2] / LOCK_PLACE)
    for kind, registry in ((MODELS, "models"), (DATASETS, "corpora")):
        pinned = [entry["source"] for entry in SHIPPED[registry].values() if "revision" in entry["source"]]
        assert pinned
        for source in pinned:
            assert locked(lock, kind, source)["commit"] == source["revision"]
