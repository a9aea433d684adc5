"""The workflow on a real Slurm gives the same files as on one machine."""

import re

from workspaces import SMALL, digests, small_run

# Extraction of every corpus and one study, whole: both kinds of groups, and jobs of their own.
TARGET = "clark2019"


def test_slurm_and_one_machine_give_the_same_files(cluster, workspace, tmp_path_factory):
    before = {job["JobID"] for job in cluster.jobs()}
    output = cluster.run(workspace, "--", TARGET)
    jobs = [job for job in cluster.jobs() if job["JobID"] not in before]
    assert jobs
    assert {job["State"] for job in jobs} == {"COMPLETED"}
    # Every submitted job is one that Slurm has seen, and what is quick shares jobs.
    submitted = re.findall(r"SLURM jobid (\d+)", output)
    assert {job["JobID"] for job in jobs} == set(submitted)
    done = int(re.findall(r"(\d+) of \d+ steps \(100%\) done", output)[-1])
    assert len(jobs) < done
    # Files that need a network are fetched here, not in a job.
    assert not any("describe_model" in job["Comment"] for job in jobs)
    local = small_run(tmp_path_factory.mktemp("local"))
    local.snakemake(*SMALL, "--", TARGET)
    here, there = digests(local), digests(workspace)
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []
    assert "Nothing to be done" in cluster.run(workspace, "--", TARGET)
