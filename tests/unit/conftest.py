"""Fixtures of several unit tests."""

from pathlib import Path

import pytest

from attention_atlas.corpora.mirror import MIRROR_VARIABLE


@pytest.fixture
def without_files(tmp_path, monkeypatch):
    """A working directory in which no corpus has its file, and no mirror."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def at_root(monkeypatch):
    """The working directory of the workflow, where the files that come with it are."""
    monkeypatch.chdir(Path(__file__).parents[2])
