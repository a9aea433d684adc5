"""Jobs that were stopped in a second run: what was made from their earlier files is not taken for up to date."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from workspaces import ROOT, listen_to_interrupts

from attention_atlas.workflow.unfinished import SWITCH

pytestmark = pytest.mark.long
SNAKEFILE = f"""
import sys

sys.path.insert(0, {str(ROOT / "workflow/lib")!r})

from attention_atlas.workflow.unfinished import interrupt_jobs, rerun_unfinished_jobs

if workflow.is_main_process:
    rerun_unfinished_jobs()
    interrupt_jobs()


rule table:
    input:
        "scores.tsv",
    output:
        "table.tsv",
    log:
        "logs/table.log",
    params:
        code="copied",
    script:
        "write_code.py"


rule scores:
    output:
        "scores.tsv",
        ["counts.tsv"] if config["counts"] else [],
    log:
        "logs/scores.log",
    params:
        code=config["code"],
    script:
        "write_code.py"
"""
SCRIPT = """
import os
import time
from pathlib import Path

from attention_atlas.workflow.job import job

with job(snakemake):
    if "SLOW" in os.environ:
        Path("started").touch()
        time.sleep(600)
    for path in snakemake.output:
        if "STOPPED" in os.environ:
            raise SystemExit("stopped")
        Path(path).write_text(snakemake.params.code)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which both jobs have run."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
    (tmp_path / "write_code.py").write_text(SCRIPT, encoding="utf-8")
    assert jobs(tmp_path, "first") == {"table", "scores"}
    return tmp_path


def jobs(folder: Path, code: str, *options: str, stopped: bool = False, patched: bool = True, counts: bool = False) -> set[str]:
    """The rules whose jobs Snakemake starts (or would start, with -n)."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--rerun-incomplete", *options]
    command += ["--config", f"code={code}", f"counts={counts}"]
    environment = os.environ | ({"STOPPED": "yes"} if stopped else {}) | ({} if patched else {SWITCH: "off"})
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == stopped, done.stderr
    return set(re.findall(r"^(?:local)?rule (\w+):", done.stderr + done.stdout, re.MULTILINE))


NEEDED = "Snakemake notices it by itself: workflow/unfinished.py can go"


def test_a_job_that_was_stopped_runs_again_with_what_depends_on_it(folder):
    assert jobs(folder, "second", stopped=True) == {"scores"}
    assert ((folder / "scores.tsv").exists(), (folder / "table.tsv").exists()) == (False, True)
    assert jobs(folder, "second", "-n", patched=False) == set(), NEEDED
    assert jobs(folder, "second") == {"table", "scores"}
    assert (folder / "scores.tsv").read_text(encoding="utf-8") == "second"


def test_a_changed_job_with_a_new_file_runs_again_and_deleted_files_are_not_missed(folder):
    assert jobs(folder, "second", "-n", patched=False, counts=True) == set(), NEEDED
    assert jobs(folder, "second", counts=True) == {"table", "scores"}
    for name in ("counts.tsv", "scores.tsv"):
        assert jobs(folder, "second", "-n", counts=True) == set()
        (folder / name).unlink()
    assert jobs(folder, "second", "-n", counts=True) == set()


def test_an_interrupt_of_snakemake_alone_ends_its_jobs(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "1", "--config", "code=second", "counts=False"],
        cwd=folder,
        env=os.environ | {"SLOW": "yes"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=listen_to_interrupts,
        start_new_session=True,
    )
    while not (folder / "started").exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) != 0
    assert jobs(folder, "second") == {"table", "scores"}
