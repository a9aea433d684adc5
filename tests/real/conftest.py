"""Where real corpora and the laptop run are, or why a test cannot run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def laptop() -> Path:
    """Folder of the laptop run's tables for Clark et al."""
    folder = ROOT / "results" / "laptop"
    if not (folder / "clark2019" / "comparison.tsv").is_file():
        pytest.skip("the laptop run has not been built: make test-real")
    return folder


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real corpora."""
    folder = os.environ.get("ATLAS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ATLAS_DATA names no folder of real corpora")
    return Path(folder)
