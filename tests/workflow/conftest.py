"""Fixtures of the tests that run Snakemake."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from workspaces import SMALL, Workspace, copy_workflow, small_run


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh copy of the workflow."""
    return copy_workflow(tmp_path)


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with the small sample run, which has a job of every rule: built once for all tests, and not to be changed."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, complete = shared / "small_run", shared / "small_run.complete"
    with FileLock(shared / "small_run.lock"):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            small_run(folder).snakemake(*SMALL)
            complete.touch()
    return Workspace(folder)


@pytest.fixture
def copy(done: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the built workspace that a test may change; dates are kept, so nothing is to be done in it."""

    def copied(source: str, place: str) -> None:
        # Attention maps are replaced, never written into.
        (os.link if source.endswith(".safetensors") else shutil.copy2)(source, place)

    shutil.copytree(done.folder, tmp_path / "copy", copy_function=copied)
    return Workspace(tmp_path / "copy")
