"""A study is added by new files only: tests/workflow/new_study, the example that docs/contributing/study.md walks through."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from workspaces import Workspace, copy_workflow

from attention_atlas.attention.cache import read_attention

pytestmark = pytest.mark.long
NEW_STUDY = Path(__file__).parent / "new_study"
CONFIGURATION = ("--configfile", "config.yaml", "config/toy2024.yaml")
TARGETS = ("toy2024", "scoreboard")
GENERATED = {"__pycache__", ".snakemake", "results"}


def digests(folder: Path) -> dict[str, str]:
    """File -> digest, for all files that no run writes."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    kept = ((path, path.relative_to(folder)) for path in paths)
    return {str(name): hashlib.sha256(path.read_bytes()).hexdigest() for path, name in kept if GENERATED.isdisjoint(name.parts)}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The project with the files of the new study added, and their run."""
    workspace = copy_workflow(tmp_path_factory.mktemp("new_study"))
    before = digests(workspace.folder)
    added = digests(NEW_STUDY)
    assert before.keys().isdisjoint(added), "the study has new files only"
    shutil.copytree(NEW_STUDY, workspace.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    workspace.snakemake(*CONFIGURATION, "--", *TARGETS)
    assert digests(workspace.folder) == before | added, "and no other file has changed"
    return workspace


def shares(built: Workspace) -> np.ndarray:
    """[layer, head] attention weight from a token to itself, from the cached maps."""
    maps = [example.maps for example in read_attention(built.folder / "results/toy/attention/minilm/toy-texts")]
    assert len(maps) > 1
    return np.mean([np.diagonal(heads, axis1=-2, axis2=-1).mean(axis=-1, dtype=float) for heads in maps], axis=0)


def test_table_and_figure_hold_what_the_attention_maps_say(built):
    folder = built.folder / "results/toy/toy2024"
    expected = shares(built)
    assert expected.shape == (6, 12)
    table = pd.read_csv(folder / "table1.tsv", sep="\t")
    assert table["layer"].tolist() == [*map(str, range(1, 7)), "all"]
    np.testing.assert_allclose(table["share"], [*expected.mean(axis=1), expected.mean()], rtol=1e-5)
    np.testing.assert_allclose(table["highest_share"], [*expected.max(axis=1), expected.max()], rtol=1e-5)
    assert table["highest_head"].tolist()[:6] == (expected.argmax(axis=1) + 1).tolist()
    drawn = pd.read_csv(folder / "figure1.tsv", sep="\t")
    np.testing.assert_allclose(drawn["share"], expected.ravel(), rtol=1e-5)
    assert "Attention to the same token (share)" in (folder / "figure1.svg").read_text(encoding="utf-8")
    assert "Example run: minilm on example texts." in (folder / "table1.html").read_text(encoding="utf-8")


def test_published_values_have_their_rows_in_the_scoreboard(built):
    folder = built.folder / "results/toy"
    values = pd.read_csv(folder / "comparison.tsv", sep="\t").set_index("id")
    assert values["study"].tolist() == ["toy2024", "toy2024"]
    assert values.loc["toy24.share", "published"] == 7.5
    assert float(values.loc["toy24.share", "ours"]) == pytest.approx(100 * shares(built).mean(), rel=1e-3)
    assert set(values["verdict"]) == {"not comparable"}
    summary = pd.read_csv(folder / "scoreboard.tsv", sep="\t").set_index("study")
    assert summary.loc["toy2024", ["values", "match", "not_comparable"]].tolist() == [2, 0, 2]
    assert summary.loc["toy2024", "obstacles"] == "a choice of the run (1); another model and another corpus (1)"
