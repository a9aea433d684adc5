"""A treebank of another language, from its file to Table 1 and the atlas; needs ATLAS_DATA (see the reason for skipping)."""

import os
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest
import yaml
from workspaces import ROOT, copy_workflow

from attention_atlas.io.tables import read_table

TREEBANKS = {"german": "ud_german_gsd/de_gsd-ud-dev.conllu", "finnish": "ud_finnish_tdt/fi_tdt-ud-dev.conllu"}
RELATIONS = {
    "german": {"det", "nsubj", "case", "obj", "obl", "det:poss"},
    "finnish": {"nsubj", "case", "obj", "obl", "nmod:poss"},
}


@pytest.mark.parametrize("language", TREEBANKS)
def test_a_treebank_goes_from_its_file_to_table_1_and_the_atlas(mirror: Path, tmp_path: Path, language: str):
    path = mirror / TREEBANKS[language]
    if not path.is_file():
        pytest.skip(f"ATLAS_DATA has no {TREEBANKS[language]} (Universal Dependencies)")
    checked = subprocess.run(
        [sys.executable, "-m", "attention_atlas.workflow.check", "--corpus", str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow" / "lib")},
    ).stdout
    taken, _, rest = checked.partition("     its entry in an overlay (docs/your-data.md):\n")
    assert "yes  conllu: " in taken
    lines = takewhile(lambda line: not line or line.startswith(" " * 9), rest.splitlines())
    added = yaml.safe_load("\n".join(lines))
    assert added["corpora"]["mine"]["source"] == {"path": str(path.resolve())}
    # As it is printed, but smaller.
    added["corpora"]["mine"]["limit"] = added["corpora"]["mine"]["shard"] = 200
    studies = {
        "clark2019": {"dependencies": "mine", "min_count": 20, "resamples": 200},
        "atlas": {"sentences": "mine", "resamples": 200, "shuffles": 200},
    }
    added |= {"targets": ["mine"], "runs": {"mine": {"model": "minilm", **studies}}}
    workspace = copy_workflow(tmp_path)
    (workspace.folder / "mine.yaml").write_text(yaml.safe_dump(added), encoding="utf-8")
    workspace.snakemake("--configfile", "config.yaml", "mine.yaml")
    results = workspace.folder / "results" / "mine"
    table1 = read_table(results / "clark2019" / "table1.tsv").set_index("relation")
    assert set(table1.index) >= RELATIONS[language]
    assert table1["accuracy"].between(0, 1).all()
    # A head of this model finds what precedes a noun in any language better than chance.
    assert table1.loc["case", "accuracy"] > table1.loc["all", "accuracy"]
    assert table1.loc["obj", "paper_accuracy"] != table1.loc["obj", "paper_accuracy"], "the paper has no such relation"
    heads = read_table(results / "atlas" / "heads.tsv")
    assert len(heads) == 72
    assert {"best_relation", "relation_margin", "entropy"} <= set(heads.columns)
    assert heads["entropy"].notna().all()
    assert (results / "atlas" / "atlas.html").stat().st_size > 100_000
