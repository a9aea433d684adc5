"""What jobs are declared to take, and the rules that ask for it."""

import re

import pytest
from rules_text import RULES, rules_of

from attention_atlas.workflow.resources import find_job
from attention_atlas.workflow.shared_jobs import SHARED_JOBS
from attention_atlas.workflow.studies import studies

BODIES = {name: body for path in RULES for name, body in rules_of(path).items()}
DECLARED = {
    **{rule: ("", job) for rule, job in SHARED_JOBS.items()},
    **{f"{study.id}_{name}": (study.id, job) for study in studies().values() for name, job in study.jobs.items()},
}
KINDS = ("memory", "minutes", "threads", "gpus")


def requested_resources(body: str) -> dict[str, set[str]]:
    """Resource -> jobs that a rule asks it for, by their declared names: `study.memory("name")` or `jobs.memory("name")`."""
    requested: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for owner, kind, job in re.findall(rf'(\w+)\.({"|".join(KINDS)})\("(\w+)"\)', body):
        requested[kind].add(job if owner == "jobs" else f"{owner}_{job}")
    return requested


def test_every_declared_job_is_a_rule():
    assert set(DECLARED) <= set(BODIES)
    assert len(DECLARED) > 30


@pytest.mark.parametrize("rule", sorted(BODIES))
def test_what_a_rule_asks_for_is_declared(rule):
    requested = requested_resources(BODIES[rule])
    for kind, jobs in requested.items():
        for job in jobs:
            assert job in DECLARED, f"{rule} asks for {kind} of {job}"
            # A rule that takes over another one asks for what that one takes.
            assert job == rule or same_resources(job, rule), rule
    for kind, attribute in (("memory", "memory"), ("minutes", "minutes"), ("threads", "passes")):
        for job in requested[kind]:
            assert getattr(DECLARED[job][1], attribute) is not None, f"{job} declares no {attribute}"
    for job in requested["gpus"]:
        assert DECLARED[job][1].gpu, job


def same_resources(job: str, variant: str) -> bool:
    """Whether two declared jobs take the same."""
    attributes = ("reads", "work", "memory", "passes", "gpu")
    return all(getattr(DECLARED[job][1], key) == getattr(DECLARED[variant][1], key) for key in attributes)


@pytest.mark.parametrize("rule", sorted(DECLARED))
def test_what_is_declared_is_asked_for(rule):
    _, job = DECLARED[rule]
    requested = requested_resources(BODIES[rule])
    for kind, attribute in (("memory", "memory"), ("minutes", "minutes"), ("threads", "passes")):
        declared = getattr(job, attribute) is not None
        assert declared == bool(requested[kind]), f"{rule}: {attribute}"
    assert job.gpu == bool(requested["gpus"]), rule


def test_rules_run_on_a_gpu_exactly_where_it_is_declared():
    with_gpu = {rule for rule, body in BODIES.items() if re.search(r"\bgpu=", body)}
    assert with_gpu == {rule for rule, (_, job) in DECLARED.items() if job.gpu}
    assert {"extract_attention", "fine_tune_by_epoch", "kovaleva2019_drawn", "stefanik2021_baselines"} <= with_gpu
    assert not {"clark2019_surface", "build_examples", "atlas_of_model"} & with_gpu


@pytest.mark.parametrize("rule", sorted(DECLARED))
def test_a_job_is_found_by_the_name_of_its_rule(rule):
    assert find_job(rule) == DECLARED[rule]


def test_other_rules_are_found_to_have_nothing_declared():
    assert find_job("clark2019_table1") == ("clark2019", None)
    assert find_job("sample_corpus") == ("", None)
    # The target rule of a study has its name.
    assert find_job("clark2019") == ("", None)


def test_a_job_shares_its_coefficients_with_a_rule_that_is_measured():
    for rule, (_, job) in DECLARED.items():
        if job.measured_as:
            assert DECLARED[job.measured_as][1].work == job.work, rule
            assert not DECLARED[job.measured_as][1].measured_as or job.measured_as == rule, rule
