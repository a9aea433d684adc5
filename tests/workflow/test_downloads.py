"""A model and a data set of a hub on the loopback address in the workflow: what makes jobs run again, and what does not."""

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
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
ATTENTION = "results/mine/attention/tiny/first/0.safetensors"
OPTIONS = ("--configfile", "config.yaml", "mine.yaml", "--")


@pytest.fixture
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("served")
    model, data = folder / "models/a/tiny", folder / "datasets/a/data"
    tiny("bert").save_pretrained(model)
    words = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat"]
    BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(model)
    data.mkdir(parents=True)
    pq.write_table(pa.table({"text": ["The cat sat. \n" * 4] * 40}), data / "train.parquet")
    with serving(folder) as served:
        yield served


def variables(hub: Hub, workspace: Workspace) -> dict[str, str]:
    chosen = ("HF_ENDPOINT", "HF_HOME", "XDG_CACHE_HOME", "HF_HUB_ETAG_TIMEOUT", "NO_PROXY")
    return {name: hub.environment(workspace.folder)[name] for name in chosen}


def planned(hub: Hub, workspace: Workspace) -> str:
    return workspace.snakemake("--dry-run", *OPTIONS, CARD, *EXAMPLES, **variables(hub, workspace)).stdout


@pytest.mark.long
def test_a_run_keeps_the_commit_that_it_fetched(workspace, hub):
    (workspace.folder / "mine.yaml").write_text(OVERLAY, encoding="utf-8")
    # A dry run asks the hub for nothing, also where the commit is not known.
    assert "describe_model" in planned(hub, workspace)
    assert not hub.requests
    workspace.snakemake(*OPTIONS, CARD, *EXAMPLES, **variables(hub, workspace))
    card = json.loads((workspace.folder / CARD).read_text(encoding="utf-8"))
    assert card["origin"] == f"hub a/tiny at {FIRST}"
    # Two corpora of the same rows: one download.
    downloads = [path for path in hub.requests if path.endswith("/resolve/" + FIRST + "/train.parquet")]
    assert 0 < len(downloads) <= 4
    asked = len(hub.requests)
    assert "Nothing to be done" in planned(hub, workspace)
    # Once fetched, the source alone will do.
    (workspace.folder / "mine.yaml").write_text(ALONE, encoding="utf-8")
    assert "Nothing to be done" in planned(hub, workspace)
    # Another program moves the branch on in the hub's cache: jobs of this run go on with the commit in the card.
    refs = next((workspace.folder / "hub_cache").rglob("models--a--tiny/refs/main"))
    refs.write_text(SECOND, encoding="utf-8")
    (workspace.folder / "mine.yaml").write_text(OVERLAY, encoding="utf-8")
    workspace.snakemake(*OPTIONS, ATTENTION, **variables(hub, workspace))
    assert len(hub.requests) == asked
    described = json.loads((workspace.folder / ATTENTION).with_suffix(".json").read_text(encoding="utf-8"))
    assert described["model"]["origin"] == f"hub a/tiny at {FIRST}"
