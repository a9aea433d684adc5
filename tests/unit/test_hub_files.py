"""Which commit of a hub repository is used, and where its files are."""

import json
from pathlib import Path

import pytest
from huggingface_hub._local_folder import write_download_metadata

from attention_atlas.errors import AtlasError
from attention_atlas.io import hub_files
from attention_atlas.io.hub_files import MIRROR_VARIABLE, MODELS, at_hand, commit_of

FIRST, SECOND = "1" * 40, "2" * 40
NAMED = {"hub": "a/b"}


@pytest.fixture(autouse=True)
def cache(without_files, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(without_files / "hub_cache"))
    return without_files / "hub_cache/models--a--b"


def moved(cache: Path, commit: str, branch: str = "main") -> None:
    """Let a branch of the cached repository be at a commit."""
    (cache / "refs").mkdir(parents=True, exist_ok=True)
    (cache / "refs" / branch).write_text(commit)
    (cache / "snapshots" / commit).mkdir(parents=True, exist_ok=True)


def test_the_commit_is_the_named_one_then_that_of_the_card_then_that_of_the_cache(cache, tmp_path):
    card = tmp_path / "card.json"
    with_card = NAMED | {"card": str(card)}
    assert commit_of(MODELS, with_card) is None
    assert at_hand(MODELS, with_card) is None
    moved(cache, FIRST)
    moved(cache, SECOND, "v2")
    assert commit_of(MODELS, with_card) == FIRST
    assert commit_of(MODELS, NAMED | {"revision": "v2"}) == SECOND
    card.write_text(json.dumps({"origin": f"hub a/b at {FIRST}"}))
    # Another program fetches a later commit while the run lasts.
    moved(cache, SECOND)
    assert commit_of(MODELS, NAMED) == SECOND
    assert at_hand(MODELS, with_card) == cache / "snapshots" / FIRST
    assert commit_of(MODELS, with_card | {"revision": SECOND}) == SECOND


def test_the_mirror_is_checked_by_what_was_noted_when_it_was_downloaded(without_files, monkeypatch):
    monkeypatch.setenv(MIRROR_VARIABLE, str(without_files / "mirror"))
    folder = without_files / "mirror" / "hub" / "models" / "a" / "b"
    folder.mkdir(parents=True)
    # As `hf download --local-dir` leaves it.
    for name, content in {"config.json": b'{"n_layer": 1}', "notes.txt": b"x"}.items():
        (folder / name).write_bytes(content)
        write_download_metadata(folder, name, FIRST, hub_files._git_checksum(folder / name))
    pinned = NAMED | {"revision": FIRST}
    assert hub_files.fetch(MODELS, pinned, ["*"]) == folder
    with pytest.raises(AtlasError, match=f"this is a/b at commit {FIRST[:8]}, but {SECOND[:8]} is needed"):
        hub_files.fetch(MODELS, NAMED | {"revision": SECOND}, ["*"])
    (folder / "notes.txt").write_bytes(b"y")
    with pytest.raises(AtlasError, match=r"notes\.txt: wrong checksum"):
        hub_files.fetch(MODELS, pinned, ["*"])
