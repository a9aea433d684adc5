"""Faults while the workflow runs: after each a plain restart completes, with the files of an undisturbed run."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from workspaces import SMALL, Workspace

pytestmark = pytest.mark.long
SHARDS = "results/sample/attention/minilm/sample-trees"
SHARD, RELATIONS = f"{SHARDS}/0.safetensors", "results/sample/clark2019/dependencies.tsv"
EXTRACTION_LOG = "results/sample/logs/extract_attention/minilm/sample-trees/0.log"
WAIT = 180


@pytest.fixture
def built(done: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the undisturbed run; dates are kept, so nothing is to be done in it."""
    shutil.copytree(done.folder, tmp_path / "built")
    return Workspace(tmp_path / "built")


@pytest.fixture
def unbuilt(built: Workspace) -> Workspace:
    """The same, but attention and what follows from it is still to be made."""
    for folder in ("attention", "clark2019", "logs"):
        shutil.rmtree(built.folder / "results/sample" / folder)
    return built


def until(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait for a condition while a process runs; fail where it never holds."""
    end = time.monotonic() + WAIT
    while not condition():
        assert process.poll() is None, f"ended before the fault: {process.communicate()[0][-3000:]}"
        assert time.monotonic() < end, "waited too long for the moment of the fault"
        time.sleep(0.002)


def jobs_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Everything that a Snakemake has started."""
    return psutil.Process(process.pid).children(recursive=True)


def restarts(workspace: Workspace, whole: Workspace, unlock: bool = False) -> None:
    """A plain restart completes and gives the files of the undisturbed run, and nothing half written is left."""
    if unlock:
        workspace.snakemake(*SMALL, "--unlock")
    workspace.snakemake(*SMALL, "--", RELATIONS)
    for name in sorted(p.name for p in (whole.folder / SHARDS).iterdir()):
        assert (workspace.folder / SHARDS / name).read_bytes() == (whole.folder / SHARDS / name).read_bytes(), name
    assert (workspace.folder / RELATIONS).read_bytes() == (whole.folder / RELATIONS).read_bytes()
    assert list(workspace.folder.rglob(".*.part")) == []


def test_a_job_killed_in_the_middle_of_writing(unbuilt, done):
    process = unbuilt.start(*SMALL, "--", RELATIONS)
    # Files being written have temporary names beside the final ones.
    until(lambda: any(path.stat().st_size for path in (unbuilt.folder / SHARDS).glob(".*.part")), process)
    for job in jobs_of(process):
        job.kill()
    output, _ = process.communicate(timeout=WAIT)
    assert process.returncode != 0, output
    assert not (unbuilt.folder / RELATIONS).exists()
    restarts(unbuilt, done)


def test_everything_killed(unbuilt, done):
    process = unbuilt.start(*SMALL, "--", RELATIONS)
    until((unbuilt.folder / EXTRACTION_LOG).exists, process)
    for victim in (*jobs_of(process), psutil.Process(process.pid)):
        victim.kill()
    process.communicate()
    assert not (unbuilt.folder / SHARD).exists(), "a killed job must leave no file with its final name"
    restarts(unbuilt, done, unlock=True)


def test_an_interrupt_from_the_keyboard(unbuilt, done):
    process = unbuilt.start(*SMALL, "--", RELATIONS, start_new_session=True)
    until((unbuilt.folder / EXTRACTION_LOG).exists, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to Snakemake and to its jobs
    process.communicate(timeout=WAIT)
    assert process.returncode != 0
    assert not (unbuilt.folder / SHARD).exists()
    restarts(unbuilt, done)  # no lock is left


def test_a_damaged_shard_is_named_set_aside_and_made_anew(built, done):
    shard = built.folder / SHARDS / "1.safetensors"
    sound = shard.read_bytes()
    middle = len(sound) // 2
    shard.write_bytes(sound[:middle] + bytes([sound[middle] ^ 1]) + sound[middle + 1 :])
    (built.folder / RELATIONS).unlink()
    failed = built.snakemake(*SMALL, "--", RELATIONS, check=False)
    assert failed.returncode != 0
    assert "1.safetensors: this shard cannot be used" in failed.stdout
    assert "renamed to 1.safetensors.damaged; start again" in failed.stdout
    assert failed.stdout.count("Start the same command again to continue.") == 1, "said once, at the end"
    assert "Traceback" not in (built.folder / "results/sample/logs/clark2019/dependencies.log").read_text()
    output = built.snakemake(*SMALL, "--", RELATIONS).stdout
    assert output.count("rule extract_attention:") == 1
    (shard.parent / "1.safetensors.damaged").unlink()
    restarts(built, done)
