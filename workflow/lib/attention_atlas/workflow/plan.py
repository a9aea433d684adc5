"""Run time and disk space of a plan: dependent jobs on a fixed number of processors."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Planned:
    """A job of a plan.

    Attributes:
        rule: name of its rule.
        seconds: run time.
        threads: processors in use while it runs.
        after: positions of the jobs that it waits for.
        gpus: GPUs in use while it runs, 0 or 1.
        kept_bytes: size of its permanent outputs.
        temporary_bytes: size of its outputs that are removed when the last job that reads them has ended.
        scratch_bytes: disk space in use only while it runs.
        priority: jobs that are ready start in descending order of priority.
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
    """Resources that jobs share: processors, GPUs (None: no job waits for one), and scratch bytes of running jobs."""

    processors: int
    gpus: int | None = None
    scratch_bytes: float = float("inf")


def schedule(jobs: Sequence[Planned], capacity: Capacity, delay: float = 0.0) -> list[tuple[float, float]]:
    """Start and end of each job, in seconds, when every job starts as soon as it can.

    Jobs of the highest priority start first, as in Snakemake; ties go to the job with the longest path to the end.

    A job that requests more than the capacity gets all of it, as in Snakemake.

    Args:
        jobs: in an order in which each job follows those that it waits for.
        capacity: the shared resources.
        delay: seconds between a job being ready and its start (a cluster's queue and start-up).
    """
    # A job's weight is the length of the longest path from it to the end.
    weight = [job.seconds for job in jobs]
    for place in range(len(jobs) - 1, -1, -1):
        for before in jobs[place].after:
            weight[before] = max(weight[before], jobs[before].seconds + weight[place])
    waiting = [len(set(job.after)) for job in jobs]
    followers: list[list[int]] = [[] for _ in jobs]
    for place, job in enumerate(jobs):
        for before in set(job.after):
            followers[before].append(place)
    ready = [(-jobs[place].priority, -weight[place], place) for place, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []
    limits = (capacity.processors, float("inf") if capacity.gpus is None else capacity.gpus, capacity.scratch_bytes)
    wanted = [
        tuple(min(amount, limit) for amount, limit in zip((job.threads, job.gpus, job.scratch_bytes), limits, strict=True))
        for job in jobs
    ]
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
                heapq.heappush(ready, (-jobs[place].priority, -weight[place], place))
    return times


def makespan(jobs: Sequence[Planned], processors: int, delay: float = 0.0) -> float:
    """Seconds from the first start to the last end of `schedule` on a number of processors."""
    return max((end for _, end in schedule(jobs, Capacity(processors), delay)), default=0.0)


def peak_bytes(jobs: Sequence[Planned], times: Sequence[tuple[float, float]]) -> float:
    """Peak disk space of a schedule in bytes: permanent files, temporary files still to be read, and scratch of running jobs.

    A job's outputs count from its start; temporary ones until the end of the last job that reads them, or until the end of
    the job itself if no job reads them.
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
    # At equal times, files are removed before new ones are written.
    for _, change in sorted(changes):
        taken += change
        peak = max(peak, taken)
    return peak
