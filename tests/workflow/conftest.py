"""Fixtures of the tests that run Snakemake."""

import functools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from workspaces import SMALL, Workspace, build_measured, copy_workflow, small_run


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh copy of the workflow."""
    return copy_workflow(tmp_path)


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Workspace:
    """A workspace that the first process that needs it builds, in an empty folder, for all."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, complete = shared / name, shared / f"{name}.complete"
    with FileLock(shared / f"{name}.lock"):
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            build(folder)
            complete.touch()
    return Workspace(folder)


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The small sample run, not to be changed: a job of every rule that measures, and the rows of every table and figure."""
    return built_once(tmp_path_factory, "small_run", lambda folder: build_measured(small_run(folder)))


@pytest.fixture(scope="session")
def complete(done: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The same with a job of every rule, and all files; nothing is to be done in it."""
    started = functools.partial(shutil.copytree, done.folder, dirs_exist_ok=True)
    return built_once(tmp_path_factory, "complete_run", lambda folder: Workspace(started(folder), warm=True).snakemake(*SMALL))


@pytest.fixture
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    """A copy of the built workspace, with all files for a long test, that a test may change; dates are kept."""
    built: Workspace = request.getfixturevalue("complete" if request.node.get_closest_marker("long") else "done")

    def copied(source: str, place: str) -> None:
        # Attention maps are replaced, never written into.
        (os.link if source.endswith(".safetensors") else shutil.copy2)(source, place)

    shutil.copytree(built.folder, tmp_path / "copy", copy_function=copied)
    return Workspace(tmp_path / "copy")
