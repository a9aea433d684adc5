"""Where real corpora and the laptop run are, or why a test cannot run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def built(study: str) -> Path:
    """Folder of the laptop run's tables of a study; skips the test where they have not been built."""
    folder = ROOT / "results" / "laptop" / study
    if not (folder / "comparison.tsv").is_file():
        pytest.skip(f"{study} of the laptop run has not been built: make test-real")
    return folder


@pytest.fixture(scope="session")
def laptop() -> Path:
    """Folder of the laptop run, with the tables of Clark et al."""
    return built("clark2019").parent


@pytest.fixture(scope="session")
def guan2020() -> Path:
    """Folder of the laptop run's tables of Guan et al."""
    return built("guan2020")


@pytest.fixture(scope="session")
def kovaleva2019() -> Path:
    """Folder of the laptop run's tables of Kovaleva et al."""
    return built("kovaleva2019")


@pytest.fixture(scope="session")
def michel2019() -> Path:
    """Folder of the laptop run's tables of Michel et al."""
    return built("michel2019")


@pytest.fixture(scope="session")
def tenney2019() -> Path:
    """Folder of the laptop run's tables of Tenney et al."""
    return built("tenney2019")


@pytest.fixture(scope="session")
def stefanik2021() -> Path:
    """Folder of the laptop run's tables of Štefánik's study."""
    return built("stefanik2021")


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real corpora."""
    folder = os.environ.get("ATLAS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ATLAS_DATA names no folder of real corpora")
    return Path(folder)
