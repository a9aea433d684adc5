"""Faults of jobs and nodes of a real Slurm: the run gets through them, with the files of an undisturbed run."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import LIMIT, Cluster
from workspaces import SMALL, Workspace, small_run

FOLDER = "results/sample/attention/minilm/sample-segments"
SHARD = f"{FOLDER}/0.safetensors"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The shard as this machine makes it, undisturbed."""
    workspace = small_run(tmp_path_factory.mktemp("local"))
    workspace.snakemake(*SMALL, "--", SHARD)
    return workspace


def known(cluster: Cluster) -> set[str]:
    return {job["JobID"] for job in cluster.jobs()}


def extracting(cluster: Cluster, process: subprocess.Popen[str], workspace: Workspace, before: set[str]) -> dict[str, str]:
    """The job that extracts attention, once it has begun to."""
    log = workspace.folder / "results/sample/logs/extract_attention/minilm/sample-segments/0.log"
    end = time.monotonic() + 180
    while True:
        running = [job for job in cluster.jobs() if job["State"] == "RUNNING" and job["JobID"] not in before]
        if log.exists() and running:
            return running[0]
        assert process.poll() is None, f"ended before the fault: {process.communicate()[0][-3000:]}"
        assert time.monotonic() < end, cluster.jobs()
        time.sleep(0.2)


def states(cluster: Cluster, before: set[str]) -> list[str]:
    """States of the new jobs in the order of their submission, once all have ended: a cancelled job runs on for a moment."""
    end = time.monotonic() + 60
    while any(job["State"] in ("PENDING", "RUNNING", "COMPLETING") for job in cluster.jobs()) and time.monotonic() < end:
        time.sleep(0.2)
    new = [job for job in cluster.jobs() if job["JobID"] not in before]
    return [job["State"] for job in sorted(new, key=lambda job: int(job["JobID"]))]


def same(workspace: Workspace, whole: Workspace) -> None:
    for name in ("0.safetensors", "0.json"):
        assert (workspace.folder / FOLDER / name).read_bytes() == (whole.folder / FOLDER / name).read_bytes()
    assert not list((workspace.folder / FOLDER).glob(".*.part"))


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        (("scontrol", "update", "NodeName={NodeList}", "State=DOWN", "Reason=test"), "NODE_FAIL"),
        (("scancel", "{JobID}"), "CANCELLED"),
    ],
)
def test_a_node_goes_down_or_a_job_is_cancelled(cluster, workspace, whole, fault, state):
    before = known(cluster)
    process = cluster.start(workspace, "--", SHARD)
    job = extracting(cluster, process, workspace, before)
    cluster.command(*(part.format(**job) for part in fault))
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, output[-3000:]
    job_states = states(cluster, before)
    assert state in job_states
    assert job_states[-1] == "COMPLETED"
    same(workspace, whole)


def test_too_little_memory_at_first(cluster, workspace, whole):
    before = known(cluster)
    # Extraction takes about 750 MB, and Snakemake around it 200. Memory is sampled once a second: what is too little has to be
    # so for most of the job, as 350 MB are once torch is imported.
    little = ("extract_attention:mem_mb=350+1050*(attempt-1)", "build_examples:mem_mb=700*attempt")
    output = cluster.run(workspace, "--set-resources", *little, "--", SHARD)
    new = sorted((job for job in cluster.jobs() if job["JobID"] not in before), key=lambda job: int(job["JobID"]))
    last = new[-2:]
    assert [job["MinMemory"] for job in last] == ["350M", "1400M"], output[-3000:]
    assert last[0]["State"] in ("FAILED", "OUT_OF_MEMORY")
    assert last[1]["State"] == "COMPLETED"
    same(workspace, whole)


def test_the_run_is_interrupted_and_started_again(cluster, workspace, whole):
    before = known(cluster)
    process = cluster.start(workspace, "--", SHARD)
    extracting(cluster, process, workspace, before)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert "CANCELLED" in states(cluster, before)
    assert not (workspace.folder / SHARD).exists()
    cluster.run(workspace, "--", SHARD)
    same(workspace, whole)
    assert Path(workspace.folder, SHARD).stat().st_size
