"""A model and a data set of a hub on the loopback address in the workflow: what makes jobs run again, and what does not."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from loopback_hub import FIRST, SECOND, Hub, serving
from tiny_models import tiny
from transformers import BertTokenizerFast
from workspaces import Workspace

OVERLAY = """
targets: [mine]
models:
  tiny: {source: {hub: a/tiny}, layers: 3, heads: 4, hidden_size: 16}
corpora:
  first: &rows
    {reader: segments, source: {hub: a/data, rows: 20}, max_tokens: 40, limit: 4, shard: 4}
  second: {<<: *rows, recipe: clean}
runs:
  mine: {extends: sample, model: tiny}
"""
ALONE = OVERLAY.replace(", layers: 3, heads: 4, hidden_size: 16", "")
CARD = "results/mine/models/tiny/card.json"
EXAMPLES = [f"results/mine/examples/tiny/{corpus}/0.parquet" for corpus in ("first", "second")]
OPTIONS = ("--configfile", "config.yaml", "mine.yaml", "--")


@pytest.fixture
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    files = tmp_path_factory.mktemp("files")
    tiny("bert").save_pretrained(files / "model")
    words = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat"]
    BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(files / "model")
    rows = [{"text": "The cat sat. \n" * 4} for _ in range(40)]
    pq.write_table(pa.Table.from_pylist(rows), files / "train.parquet")
    with serving(tmp_path_factory.mktemp("served")) as served:
        served.add("models", "a/tiny", {path.name: path.read_bytes() for path in (files / "model").iterdir()})
        served.add("datasets", "a/data", {"train.parquet": (files / "train.parquet").read_bytes()})
        yield served


def variables(hub: Hub, workspace: Workspace) -> dict[str, str]:
    chosen = ("HF_ENDPOINT", "HF_HOME", "XDG_CACHE_HOME", "HF_HUB_ETAG_TIMEOUT", "NO_PROXY")
    return {name: hub.environment(workspace.folder)[name] for name in chosen}


def planned(hub: Hub, workspace: Workspace) -> str:
    return workspace.snakemake("--dry-run", *OPTIONS, CARD, *EXAMPLES, **variables(hub, workspace)).stdout


def test_a_recorded_commit_leaves_files_up_to_date_and_a_refreshed_one_does_not(workspace, hub):
    (workspace.folder / "mine.yaml").write_text(OVERLAY, encoding="utf-8")
    lock_path = workspace.folder / "config" / "lock.yaml"
    shipped = yaml.safe_load(lock_path.read_text(encoding="utf-8"))
    # A dry run asks the hub for nothing, also where the commit is not known.
    assert "describe_model" in planned(hub, workspace)
    assert not hub.requests
    workspace.snakemake(*OPTIONS, CARD, *EXAMPLES, **variables(hub, workspace))
    lock = yaml.safe_load(lock_path.read_text(encoding="utf-8"))
    assert lock["models"]["a/tiny"]["main"]["commit"] == lock["datasets"]["a/data"]["main"]["commit"] == FIRST
    assert {kind: {name: lock[kind][name] for name in shipped[kind]} for kind in shipped} == shipped
    # Two corpora of the same rows: one download.
    downloads = [path for path in hub.requests if path.endswith("/resolve/" + FIRST + "/train.parquet")]
    assert 0 < len(downloads) <= 4
    asked = len(hub.requests)
    assert "Nothing to be done" in planned(hub, workspace)
    # Once locked, the source alone will do.
    (workspace.folder / "mine.yaml").write_text(ALONE, encoding="utf-8")
    assert "Nothing to be done" in planned(hub, workspace)
    lock["models"]["a/tiny"]["main"] |= {"commit": SECOND, "replaces": FIRST}
    lock_path.write_text(yaml.safe_dump(lock), encoding="utf-8")
    again = planned(hub, workspace)
    assert "rule describe_model" in again
    assert "fetch_corpus" not in again
    assert len(hub.requests) == asked
