"""Fixtures of several unit tests."""

import shutil
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


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    """A browser without a screen, for pages with scripts."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()
