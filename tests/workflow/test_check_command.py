"""`make check` as a command."""

from __future__ import annotations

import os
import subprocess
import sys

from workspaces import ROOT


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`make check`."""
    command = [sys.executable, "-m", "attention_atlas.workflow.check", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow" / "lib")}
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, env=environment)


def test_the_status_of_a_check_says_whether_the_run_can_be_built(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "models: {absent: {source: {path: models/absent}, layers: 6, heads: 12, hidden_size: 384}}\n"
        "runs: {mine: {extends: any, atlas: {compared: [absent]}}}\n",
        encoding="utf-8",
    )
    overlay = ("mine", "--configfile", str(tmp_path / "mine.yaml"))
    done = check(*overlay)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("Run mine cannot be built: 1 missing, 0 wrong, ")
    assert "\nmissing           model absent: the folder models/absent does not exist" in done.stdout
    done = check(*overlay, "--config", "missing=skip")
    assert done.returncode == 0, done.stderr
    assert "Built without it: atlas: measures" in " ".join(done.stdout.split())
    done = check("nine")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no run 'nine'; did you mean 'mine'" in check("nine", *overlay[1:]).stderr
