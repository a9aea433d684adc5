"""Tests run side by side: one thread each, as small tensors gain nothing from more and wait for each other's processors.

Property tests draw the same examples in every run, so that a run says something of the change that it tests; ATLAS_FUZZ=1000
draws as many new ones.
"""

import gc
import os

import pytest
from hypothesis import settings

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

gc.disable()  # until the modules of all tests are imported: that makes many objects, none of which goes
TRIES = int(os.environ.get("ATLAS_FUZZ", "0"))
settings.register_profile("atlas", derandomize=not TRIES, deadline=None, max_examples=TRIES or 100)
settings.load_profile("atlas")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First the test whose set-up builds the small run: the second process does others meanwhile, and does not wait for it."""
    gc.enable()
    gc.freeze()
    items.sort(key=lambda item: item.path.name != "test_after_a_run.py")
