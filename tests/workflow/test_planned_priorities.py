"""Priorities that Snakemake gives to the jobs of a large run, and the plan with them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from workspaces import ROOT

from attention_atlas.workflow.config import read_configuration, resolve
from attention_atlas.workflow.cost_model import disk_of, read_coefficients, seconds, workload
from attention_atlas.workflow.plan import Planned, makespan
from tools.plan import NODE_PROCESSORS, NODES, dependencies, planned_jobs


def test_snakemake_starts_the_longest_chains_first_and_the_plan_of_a_cluster_is_shorter():
    configuration = read_configuration(ROOT)
    config, coefficients = resolve(configuration), read_coefficients()
    jobs, after = dependencies(planned_jobs("paper", configuration))
    works = [workload(config, job.rule, job.wildcards) for job in jobs]
    # Longest chains, from the last jobs back.
    chains = [work.get("gflop", 0.0) for work in works]
    for place in reversed(range(len(jobs))):
        for before in after[place]:
            chains[before] = max(chains[before], works[before].get("gflop", 0.0) + chains[place])

    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")))
    rules = {body.split(":")[0] for body in re.split(r"^rule ", text, flags=re.M) if "priority: chains.priority" in body}
    rules |= {new for used, new in re.findall(r"^use rule (\w+) as (\w+) with:", text, re.M) if used in rules}
    assert {"fine_tune", "fine_tune_by_epoch", "tenney2019_probes", "kovaleva2019_disabled"} <= rules
    for job, chain in zip(jobs, chains, strict=True):
        if job.rule in rules:
            scratch = disk_of(config, job.rule, job.wildcards).scratch
            doublings = sum(chain >= 1e6 * 2**step for step in range(1, 10))
            halvings = sum(chain < 1e6 * 2.0**-step for step in range(20))
            expected = 20 if scratch >= 100e9 else 10 + doublings - halvings / 20
            assert job.priority == pytest.approx(expected), f"{job.rule} {job.wildcards}"
    trained = {job.wildcards["model"]: job.priority for job in jobs if job.rule == "fine_tune"}
    assert max(trained, key=trained.__getitem__) in (
        "bert-large-mnli",
        *(f"bert-base-glue-qqp-{seed}" for seed in range(42, 47)),
    )

    planned = [
        Planned(job.rule, seconds(coefficients, job.rule, work, job.threads), job.threads, before, priority=job.priority)
        for job, work, before in zip(jobs, works, after, strict=True)
    ]
    alike = [replace(job, priority=10) if job.rule in rules else job for job in planned]
    # No order is shorter than the longest chain.
    longest = [job.seconds for job in planned]
    for place in reversed(range(len(jobs))):
        for before in after[place]:
            longest[before] = max(longest[before], planned[before].seconds + longest[place])
    processors = NODES * NODE_PROCESSORS
    assert max(longest) <= makespan(planned, processors) < 1.1 * max(longest) < makespan(alike, processors)
