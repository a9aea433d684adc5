"""Fixtures of the tests that run Snakemake."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from workspaces import SMALL, Workspace, copy_workflow, small_run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the built run are long: all of them, so that nothing builds it without them."""
    for item in items:
        if isinstance(item, pytest.Function) and "done" in item.fixturenames:
            item.add_marker(pytest.mark.long)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh copy of the workflow."""
    return copy_workflow(tmp_path)


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace in which the small sample run has been built, once for all processes of the tests; not to be changed."""
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
