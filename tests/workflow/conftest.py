"""Fixtures of the tests that run Snakemake."""

from __future__ import annotations

from pathlib import Path

import pytest
from workspaces import Workspace, copy_workflow


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh copy of the workflow."""
    return copy_workflow(tmp_path)
