"""Downloads from a hub on the loopback address: once, kept, checked, and without a network from then on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loopback_hub import FIRST, SECOND, Hub, serving
from tiny_models import tiny
from transformers import BertTokenizerFast

TOKEN = "hf_" + "aBcD1234" * 4
NO_NETWORK = {"HF_ENDPOINT": "http://127.0.0.1:9"}
"""A port on which nothing listens."""
FETCH_MODEL = """
import logging, sys
logging.basicConfig(level=logging.DEBUG)
from attention_atlas.errors import AtlasError
from attention_atlas.models.loading import fetch_model, locate
entry = {{"source": {source}}}
try:
    folder = fetch_model(entry)
    assert folder == locate(entry)
    print(folder)
except AtlasError as error:
    sys.exit(f"refused: {{error}}")
"""
FETCH_ROWS = """
import sys
from attention_atlas.corpora.sources import fetch
from attention_atlas.errors import AtlasError
try:
    fetch({source}, "{name}.raw", rows_out="{name}.rows.tsv")
except AtlasError as error:
    sys.exit(f"refused: {{error}}")
"""
MODEL = {"hub": "a/tiny"}
PARQUET = "train-00000-of-00001.parquet"
DATA = {"hub": "a/data", "split": "train", "column": "text", "rows": 30}


@pytest.fixture
def hub(tmp_path) -> Iterator[Hub]:
    """A tiny model, and a data set in Parquet form."""
    model, data = tmp_path / "served/models/a/tiny", tmp_path / "served/datasets/a/data"
    tiny("bert").save_pretrained(model)
    vocabulary = {entry: i for i, entry in enumerate(("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "the"))}
    BertTokenizerFast(vocab=vocabulary).save_pretrained(model)
    data.mkdir(parents=True)
    rows = [{"id": f"i{k}", "title": f"t{k}", "text": f"text {k}"} for k in range(200)]
    pq.write_table(pa.Table.from_pylist(rows), data / PARQUET, row_group_size=40)
    with serving(tmp_path / "served") as served:
        yield served


def fetched(hub: Hub, home: Path, source: dict = MODEL, **variables: str) -> Path:
    done = hub.run(home, FETCH_MODEL.format(source=source), **variables)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip().splitlines()[-1])


def refused(hub: Hub, home: Path, source: dict = MODEL, **variables: str) -> str:
    done = hub.run(home, FETCH_MODEL.format(source=source), HF_TOKEN=TOKEN, **variables)
    assert done.returncode == 1, done.stdout
    (message,) = [line for line in done.stderr.splitlines() if line.startswith("refused: ")]
    assert TOKEN not in done.stdout + done.stderr
    return message.removeprefix("refused: ")


def test_a_model_is_downloaded_once_at_the_commit_that_the_hub_has_then(hub, tmp_path):
    folder = fetched(hub, tmp_path / "home")
    assert folder.name == FIRST
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        assert (folder / name).read_bytes() == (hub.folder / "models/a/tiny" / name).read_bytes()
    # The branch moves on; what was fetched is used, with and without a network.
    hub.refs |= {"main": SECOND, "first": FIRST}
    asked = len(hub.requests)
    assert fetched(hub, tmp_path / "home", **NO_NETWORK) == folder
    assert len(hub.requests) == asked
    assert fetched(hub, tmp_path / "second").name == SECOND


def test_what_the_hub_does_not_give_is_named_and_no_token(hub, tmp_path):
    home = tmp_path / "home"
    assert "model a/tiny at 33333333: the hub has this repository, but" in refused(hub, home, MODEL | {"revision": "3" * 40})
    assert f"Bearer {TOKEN}" in hub.tokens
    assert "model a/none at main: the hub has no such repository" in refused(hub, home, {"hub": "a/none"})
    hub.gated.add("models/a/tiny")
    assert "model a/tiny at main: its owner asks for an account" in refused(hub, home)
    message = refused(hub, home, **NO_NETWORK)
    assert "put the files under data_mirror (or ATLAS_DATA) as hub/models/a/tiny" in message


@pytest.mark.long
def test_corpora_of_the_same_rows_share_one_download(hub, tmp_path):
    home = tmp_path / "home"
    hub.truncated.add(PARQUET)
    done = hub.run(home, FETCH_ROWS.format(source=DATA, name="cut"))
    assert "refused: data set a/data: could not be read (" in done.stderr
    assert not list(home.rglob("cut.raw"))
    hub.truncated.clear()
    for name, variables in (("first", {}), ("second", NO_NETWORK)):
        done = hub.run(home, FETCH_ROWS.format(source=DATA, name=name), **variables)
        assert done.returncode == 0, done.stderr
    assert (home / "first.raw").read_bytes() == (home / "second.raw").read_bytes()
    rows = pd.read_csv(home / "second.rows.tsv", sep="\t", dtype=str)
    assert (len(rows), set(rows["commit"])) == (30, {FIRST})


AS_A_JOB = """
import sys
from types import SimpleNamespace
import datasets, huggingface_hub
from attention_atlas.workflow.job import job
with job(SimpleNamespace(log=["log"], rule="some_rule", threads=1){options}):
    from huggingface_hub import HfApi
    HfApi().model_info("a/tiny")
"""


def test_only_jobs_that_download_reach_the_hub(hub, tmp_path):
    done = hub.run(tmp_path / "home", AS_A_JOB.format(options=""))
    assert "offline mode is enabled" in done.stderr
    assert not hub.requests
    assert hub.run(tmp_path / "home", AS_A_JOB.format(options=", downloads=True")).returncode == 0
    assert hub.requests
