"""Time and disk space that a run takes: a schedule of jobs that depend on each other, on a number of processors."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Planned:
    """A job of a plan.

    Attributes:
        rule: its name.
        seconds: its duration.
        threads: number of its processors.
        after: positions of the jobs that it waits for.
        gpus: number of its GPUs, 0 or 1.
        kept_bytes: size of its permanent outputs.
        temporary_bytes: size of its outputs that are removed when the last job that reads them has ended.
        scratch_bytes: disk space in use only while it runs.
        priority: among jobs that are ready, those with the highest priority start first.
    """

    rule: str
    seconds: float
    threads: int
    after: tuple[int, ...]
    gpus: int = 0
    kept_bytes: float = 0.0
    temporary_bytes: float = 0.0
    scratch_bytes: float = 0.0
    priority: float = 0.0


@dataclass(frozen=True)
class Capacity:
    """What jobs share.

    Attributes:
        processors: processors of all machines.
        gpus: GPUs; None: no job waits for one.
        scratch_bytes: bytes that jobs may take while they run.
        extractions: jobs with temporary outputs that may run at the same time.
    """

    processors: int
    gpus: int | None = None
    scratch_bytes: float = float("inf")
    extractions: float = float("inf")


def schedule(jobs: Sequence[Planned], capacity: Capacity, delay: float = 0.0) -> list[tuple[float, float]]:
    """Start and end of each job, in seconds, when every job starts as soon as it can.

    Jobs start in the order of Snakemake's greedy scheduler: the highest priority first, then those that read the most temporary
    bytes, then those that read the most bytes.

    A job that requests more than the capacity gets all of it, as in Snakemake.

    Args:
        jobs: each after the jobs that it waits for.
        capacity: what the jobs share.
        delay: seconds between a job being ready and its start (a cluster's queue and start-up).
    """
    order = [_start_order(job, [jobs[before] for before in set(job.after)]) for job in jobs]
    waiting = [len(set(job.after)) for job in jobs]
    followers: list[list[int]] = [[] for _ in jobs]
    for place, job in enumerate(jobs):
        for before in set(job.after):
            followers[before].append(place)
    ready = [(*order[place], place) for place, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []
    gpus = float("inf") if capacity.gpus is None else capacity.gpus
    limits = (capacity.processors, gpus, capacity.scratch_bytes, capacity.extractions)
    requests = [(job.threads, job.gpus, job.scratch_bytes, bool(job.temporary_bytes)) for job in jobs]
    wanted = [tuple(min(amount, limit) for amount, limit in zip(request, limits, strict=True)) for request in requests]
    free, times, now = list(limits), [(0.0, 0.0)] * len(jobs), 0.0
    while ready or running:
        postponed = []
        while ready and free[0]:
            entry = heapq.heappop(ready)
            place = entry[-1]
            if all(amount <= rest for amount, rest in zip(wanted[place], free, strict=True)):
                free = [rest - amount for amount, rest in zip(wanted[place], free, strict=True)]
                times[place] = (now + delay, now + delay + jobs[place].seconds)
                heapq.heappush(running, (times[place][1], place))
            else:
                postponed.append(entry)
        for entry in postponed:
            heapq.heappush(ready, entry)
        now, done = heapq.heappop(running)
        free = [rest + amount for amount, rest in zip(wanted[done], free, strict=True)]
        for place in followers[done]:
            waiting[place] -= 1
            if not waiting[place]:
                heapq.heappush(ready, (*order[place], place))
    return times


def _start_order(job: Planned, read: Sequence[Planned]) -> tuple[float, float, float]:
    """Sort key of a job among those that are ready; `read` are the jobs whose outputs it reads."""
    temporary = sum(before.temporary_bytes for before in read)
    return -job.priority, -temporary, -temporary - sum(before.kept_bytes for before in read)


def makespan(jobs: Sequence[Planned], processors: int, delay: float = 0.0) -> float:
    """Seconds from the first start to the last end of `schedule`."""
    return max((end for _, end in schedule(jobs, Capacity(processors), delay)), default=0.0)


def peak_bytes(jobs: Sequence[Planned], times: Sequence[tuple[float, float]]) -> float:
    """Peak disk usage of a schedule in bytes: permanent outputs, temporary ones that are still read, and scratch space.

    Outputs count from the start of their job. Temporary ones count until the last job that reads them has ended, or until
    the end of their own job if none reads them.
    """
    last_read = [end for _, end in times]
    for job, (_, end) in zip(jobs, times, strict=True):
        for before in job.after:
            last_read[before] = max(last_read[before], end)
    changes = []
    for job, (start, end), freed in zip(jobs, times, last_read, strict=True):
        changes.append((start, job.kept_bytes + job.temporary_bytes + job.scratch_bytes))
        changes += [(end, -job.scratch_bytes), (freed, -job.temporary_bytes)]
    peak = taken = 0.0
    # At equal times, space is released before it is taken.
    for _, change in sorted(changes):
        taken += change
        peak = max(peak, taken)
    return peak
