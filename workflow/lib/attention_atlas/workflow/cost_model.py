"""How long jobs take: a linear model fitted to measured jobs.

    seconds = fixed + sum over kinds of work (amount x seconds for one)

The kinds of work are described in `work`; each study declares the work of its jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from attention_atlas.io.data_files import RESOURCES
from attention_atlas.io.files import read_yaml
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.resources import find_job
from attention_atlas.workflow.shared_jobs import SHARED_JOBS
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.work import Place, Work

COEFFICIENTS_PATH = RESOURCES / "costs.yaml"


def workload(config: Config, rule: str, wildcards: Mapping[str, str]) -> Work:
    """Amounts of work of a job, by kind; empty for jobs of a fixed few seconds.

    Args:
        config: the resolved configuration.
        rule, wildcards: of the job; `run` is one of the wildcards.
    """
    study, job = find_job(rule)
    if job is None or job.work is None:
        return {}
    return job.work(job.part(Place(config, wildcards["run"], study, wildcards)))


def measured_as(rule: str) -> str:
    """The rule whose coefficients a rule's jobs share: itself, or the rule that it is a variant of."""
    _, job = find_job(rule)
    return (job.measured_as if job else "") or rule


def measured_rules() -> set[str]:
    """Rules whose work is counted, so that they need coefficients."""
    declared = {f"{study.id}_{name}": job for study in studies().values() for name, job in study.jobs.items()}
    jobs = SHARED_JOBS | declared
    return {measured_as(rule) for rule, job in jobs.items() if job.work is not None}


def is_model_bound(rule: str) -> bool:
    """Whether most of the time of a rule's jobs is that of a model's operations, which a GPU takes over."""
    _, job = find_job(rule)
    return job is not None and job.model_bound


def seconds(coefficients: Mapping[str, Mapping[str, float]], rule: str, work: Work) -> float:
    """Expected seconds of a job; jobs of rules that were never measured take those of a typical small job."""
    fitted = coefficients.get(measured_as(rule)) or coefficients["other"]
    return fitted.get("fixed", 0.0) + sum(amount * fitted.get(kind, 0.0) for kind, amount in work.items())


def fit(measured: Iterable[tuple[str, Work, float]]) -> dict[str, dict[str, float]]:
    """Coefficients of each rule by non-negative least squares of relative errors.

    Args:
        measured: rule, work and seconds of each measured job.

    Returns:
        rule -> {"fixed": seconds, kind of work: seconds for one}; under "other" the median of all jobs without work.
    """
    by_rule: dict[str, list[tuple[Work, float]]] = {}
    for rule, work, taken in measured:
        by_rule.setdefault(measured_as(rule), []).append((work, taken))
    fixed = [taken for jobs in by_rule.values() for work, taken in jobs if not work]
    fitted = {"other": {"fixed": float(np.median(fixed)) if fixed else 2.0}}
    for rule, jobs in by_rule.items():
        kinds = sorted({kind for work, _ in jobs for kind in work})
        times = np.asarray([max(taken, 0.1) for _, taken in jobs])
        columns = np.asarray([[1.0, *(work.get(kind, 0.0) for kind in kinds)] for work, _ in jobs])
        solution, _ = nnls(columns / times[:, None], np.ones(len(jobs)))
        fitted[rule] = {name: float(value) for name, value in zip(["fixed", *kinds], solution, strict=True) if value > 0}
    return fitted


def read_coefficients(path: str | Path = COEFFICIENTS_PATH) -> dict[str, Any]:
    """The fitted coefficients and what they were measured on."""
    coefficients: dict[str, Any] = read_yaml(Path(path))
    return coefficients
