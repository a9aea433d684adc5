"""The workflow as a module of another one: with a configuration that changes its own."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from workspaces import copy_workflow

FIGURE = "results/few/clark2019/figure2.svg"
SNAKEFILE = f"""
configfile: "config.yaml"


module atlas:
    snakefile:
        "../atlas/Snakefile"
    config:
        config["atlas"]


use rule * from atlas as atlas_*


rule summary:
    default_target: True
    input:
        "{FIGURE}",
    output:
        "summary.txt",
    shell:
        "wc -c {{input}} > {{output}}"
"""
CONFIG = """
samples: a key of the outer workflow, which the module does not know
atlas:
  targets: [few]
  sample: {documents: 16, train_documents: 12}
  corpora:
    sample-segments: {limit: 6, shard: 6}
    mine: {reader: conllu, source: {path: trees/mine.conllu}, limit: 10}
  runs:
    few: {extends: sample, title: Few segments, clark2019: {dependencies: mine, resamples: 100}}
"""


def files_below(folder: Path) -> set[str]:
    """All files, without what Snakemake and Python keep."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if not {".snakemake", "__pycache__"} & set(path.parts)}


@pytest.mark.long
def test_a_figure_is_built_in_the_outer_folder_and_nothing_elsewhere(tmp_path):
    # Another workflow, beside a copy of this one, which is its module.
    (tmp_path / "atlas").mkdir()
    copy_workflow(tmp_path / "atlas")
    outer = tmp_path / "outer"
    (outer / "trees").mkdir(parents=True)
    (outer / "trees" / "mine.conllu").touch()
    (outer / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
    (outer / "config.yaml").write_text(CONFIG, encoding="utf-8")
    before = files_below(outer.parent)
    clean = {name: value for name, value in os.environ.items() if name not in ("ATLAS_DATA", "SNAKEMAKE_PROFILE", "PYTHONPATH")}
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--quiet", "all"]
    done = subprocess.run(command, cwd=outer, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    made = files_below(outer.parent) - before
    assert {path for path in made if not path.startswith("outer/results/few/")} == {"outer/summary.txt"}
    assert {f"outer/{FIGURE}", "outer/results/few/logs/clark2019/figure2.log"} <= made
    assert "Few segments" in (outer / FIGURE).read_text(encoding="utf-8")
    # The configuration of the module statement is laid over config.yaml and the registries of this workflow.
    segments = pd.read_parquet(outer / "results/few/examples/minilm/sample-segments/0.parquet")
    assert len(segments) == 6
