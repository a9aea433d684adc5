"""Fixtures of several unit tests."""

import logging
import random
import shutil
import sys
from types import SimpleNamespace

import pytest
from small_tokenizer import save_tokenizer

from attention_atlas.io.hub_files import MIRROR_VARIABLE


@pytest.fixture
def without_files(tmp_path, monkeypatch):
    """A working directory in which no corpus has its file, and no mirror."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    return tmp_path


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory):
    """The file of the small tokenizer."""
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")


@pytest.fixture
def rule(tmp_path, monkeypatch):
    """What Snakemake gives to a script; the process is left as it was."""
    for name in (*_THREADS, "TOKENIZERS_PARALLELISM", *_OFFLINE):
        monkeypatch.setenv(name, "unset")
    for module in filter(None, map(sys.modules.get, ("huggingface_hub.constants", "datasets.config"))):
        for name in _OFFLINE:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name))
    root = logging.getLogger()
    level, state = root.level, random.getstate()
    yield SimpleNamespace(log=[tmp_path / "job.log"], rule="some_rule", threads=3)
    root.setLevel(level)
    random.setstate(state)


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
