"""A hub on the loopback address: what it does not give is named, and only jobs that download reach it."""

from collections.abc import Iterator

import pytest
from loopback_hub import Hub, serving

FETCH_MODEL = """
import sys
from attention_atlas.errors import AtlasError
from attention_atlas.models.loading import fetch_model
try:
    fetch_model({{"source": {source}}})
except AtlasError as error:
    sys.exit(str(error))
"""
AS_A_JOB = """
from types import SimpleNamespace
from attention_atlas.workflow.job import job
with job(SimpleNamespace(log=["log"], rule="some_rule", threads=1){options}):
    from huggingface_hub import HfApi
    HfApi().model_info("a/tiny")
"""


@pytest.fixture
def hub(tmp_path) -> Iterator[Hub]:
    (tmp_path / "served/models/a/tiny").mkdir(parents=True)
    with serving(tmp_path / "served") as served:
        yield served


def test_what_the_hub_does_not_give_is_named(hub, tmp_path):
    def refused(source: dict, **variables: str) -> str:
        return hub.run(tmp_path / "home", FETCH_MODEL.format(source=source), **variables).stderr

    model = {"hub": "a/tiny"}
    assert "model a/tiny at 33333333: the hub has this repository, but" in refused(model | {"revision": "3" * 40})
    hub.gated.add("models/a/tiny")
    assert "model a/tiny at main: its owner asks for an account" in refused(model)
    without_network = refused(model, HF_ENDPOINT="http://127.0.0.1:9")  # nothing listens on this port
    assert "put the files under data_mirror (or ATLAS_DATA) as hub/models/a/tiny" in without_network


def test_only_jobs_that_download_reach_the_hub(hub, tmp_path):
    done = hub.run(tmp_path / "home", AS_A_JOB.format(options=""))
    assert "offline mode is enabled" in done.stderr
    assert not hub.requests
    assert hub.run(tmp_path / "home", AS_A_JOB.format(options=", downloads=True")).returncode == 0
    assert hub.requests
