"""Run times of jobs: a linear model fitted to measured jobs.

    seconds = fixed + sum over kinds of work (amount x seconds per unit)

The start time, and the cost of work that only some rules do, are fitted for each rule. Passes through models cost the same in
every rule: a few coefficients (matrix products, element-wise operations, attention weights, calls, updates) hold for all of
them and for all shapes. They are fitted to jobs of several shapes (benchmarks/passes.py), those of a rule to built runs
(tools/plan.py).

The kinds of work are described in `work` and `passes`; each study declares the work of its jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attention_atlas.io.data_files import RESOURCES
from attention_atlas.io.files import read_yaml
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.passes import GPU_KINDS, SHARED_KINDS
from attention_atlas.workflow.resources import find_job
from attention_atlas.workflow.shared_jobs import SHARED_JOBS
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.work import Place, Work

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Coefficients = Mapping[str, Any]
"""seconds: rule -> {fixed, kind of work: seconds per unit}; shared: kind -> seconds per unit; and where they were measured."""
COEFFICIENTS_PATH = RESOURCES / "costs.yaml"
_OF_MODELS = (*SHARED_KINDS, *GPU_KINDS)


def workload(config: Config, rule: str, wildcards: Mapping[str, str], on_gpu: bool = False) -> Work:
    """Amounts of work of a job, by kind; empty for jobs that always take a few seconds.

    Args:
        config: the resolved configuration.
        rule, wildcards: those of the job; `run` is one of the wildcards.
        on_gpu: whether it runs on a GPU.
    """
    study, job = find_job(rule)
    if job is None or job.work is None:
        return {}
    counted = job.gpu_work if on_gpu and job.gpu_work else job.work
    return counted(job.part(Place(config, wildcards["run"], study, wildcards)))


class Disk(NamedTuple):
    """Disk space of a job in bytes.

    Attributes:
        kept: permanent outputs.
        temporary: outputs that are removed after the last job that reads them.
        scratch: space in use only while the job runs.
    """

    kept: float = 0.0
    temporary: float = 0.0
    scratch: float = 0.0


def disk_of(config: Config, rule: str, wildcards: Mapping[str, str]) -> Disk:
    """Disk space of a job in bytes; arguments as in `workload`."""
    study, job = find_job(rule)
    if job is None or job.reads is None or not (job.kept_bytes or job.scratch_bytes):
        return Disk()
    part = job.part(Place(config, wildcards["run"], study, wildcards))
    outputs = float(job.kept_bytes(part)) if job.kept_bytes else 0.0
    scratch = float(job.scratch_bytes(part)) if job.scratch_bytes else 0.0
    is_temporary = job.attention and not config["keep_attention"]
    return Disk(temporary=outputs, scratch=scratch) if is_temporary else Disk(kept=outputs, scratch=scratch)


def measured_as(rule: str) -> str:
    """The rule whose coefficients a rule's jobs share: itself, or the rule that it is a variant of."""
    _, job = find_job(rule)
    return (job.measured_as if job else "") or rule


def measured_rules() -> set[str]:
    """Rules whose work is counted and which therefore need coefficients."""
    declared = {f"{study.id}_{name}": job for study in studies().values() for name, job in study.jobs.items()}
    jobs = SHARED_JOBS | declared
    return {measured_as(rule) for rule, job in jobs.items() if job.work is not None}


def is_model_bound(rule: str) -> bool:
    """Whether a rule spends most of its time on model operations, which can run on a GPU."""
    _, job = find_job(rule)
    return job is not None and job.model_bound


def speed(threads: int) -> float:
    """Speed-up over one thread: the second thread adds 0.87, the third and the fourth less."""
    return float(threads**0.9)


def seconds(coefficients: Coefficients, rule: str, work: Work, threads: int = 1) -> float:
    """Expected seconds of a job: start, work with coefficients that all rules share, and other work.

    Args:
        coefficients: from `read_coefficients`; a rule without measurements gets the start time of a typical small job.
        rule, work: rule and amounts of work of the job.
        threads: threads that share the work of models.
    """
    fitted = coefficients["seconds"].get(measured_as(rule)) or coefficients["seconds"]["other"]
    shared = coefficients["shared"]
    passes = sum(amount * shared.get(kind, 0.0) for kind, amount in work.items() if kind in _OF_MODELS)
    others = sum(amount * fitted.get(kind, 0.0) for kind, amount in work.items() if kind not in _OF_MODELS)
    return fitted.get("fixed", 0.0) + passes / speed(threads) + others


def fit(measured: Iterable[tuple[str, Work, float]], shared: Mapping[str, float] | None = None) -> dict[str, dict[str, float]]:
    """Coefficients of each rule by non-negative least squares of relative errors.

    Args:
        measured: rule, work and seconds of each measured job, on one thread.
        shared: seconds per unit for the kinds of work that all rules share; their part of the seconds is not fitted.

    Returns:
        rule -> {"fixed": seconds, kind of work: seconds per unit}; "other": the median of all jobs without work.
    """
    import numpy as np

    by_rule: dict[str, list[tuple[Work, float]]] = {}
    shared, without_work = shared or {}, []
    for rule, work, taken in measured:
        if not work:
            without_work.append(taken)
        passes = sum(amount * shared.get(kind, 0.0) for kind, amount in work.items())
        rest = {kind: amount for kind, amount in work.items() if kind not in shared}
        by_rule.setdefault(measured_as(rule), []).append((rest, max(taken - passes, 0.0)))
    fitted = {"other": {"fixed": float(np.median(without_work)) if without_work else 2.0}}
    for rule, jobs in by_rule.items():
        kinds = sorted({kind for work, _ in jobs for kind in work})
        times = np.asarray([max(taken, 0.1) for _, taken in jobs])
        columns = np.asarray([[1.0, *(work.get(kind, 0.0) for kind in kinds)] for work, _ in jobs])
        solution = _relative_least_squares(columns, times)
        fitted[rule] = {name: float(value) for name, value in zip(["fixed", *kinds], solution, strict=True) if value > 0}
    return fitted


def fit_shared(measured: Iterable[tuple[Work, float]]) -> dict[str, float]:
    """Seconds per unit of each kind of work that all rules share, by non-negative least squares of relative errors.

    Args:
        measured: work and processor seconds of jobs of several shapes, without the start time.
    """
    import numpy as np

    jobs = list(measured)
    kinds = [kind for kind in SHARED_KINDS if any(kind in work for work, _ in jobs)]
    times = np.asarray([taken for _, taken in jobs])
    columns = np.asarray([[work.get(kind, 0.0) for kind in kinds] for work, _ in jobs])
    solution = _relative_least_squares(columns, times)
    return {kind: float(value) for kind, value in zip(kinds, solution, strict=True)}


def _relative_least_squares(columns: npt.NDArray[np.float64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[kind] non-negative coefficients that minimise the sum of squared relative errors of `columns` [job, kind] on `times`."""
    # Every start of the workflow imports this module for file sizes; only fitting needs scipy.
    import numpy as np
    from scipy.optimize import nnls

    solution, _ = nnls(columns / times[:, None], np.ones(len(times)))
    return np.asarray(solution, dtype=float)


def read_coefficients(path: str | Path = COEFFICIENTS_PATH) -> dict[str, Any]:
    """The fitted coefficients and what they were measured on."""
    coefficients: dict[str, Any] = read_yaml(Path(path))
    return coefficients
