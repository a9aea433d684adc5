"""How long a plan takes: jobs that wait for each other, on so many processors."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Planned:
    """A job of a plan: its rule, seconds, processors, and the jobs that it waits for, by position."""

    rule: str
    seconds: float
    threads: int
    after: tuple[int, ...]


def makespan(jobs: Sequence[Planned], processors: int, delay: float = 0.0) -> float:
    """Seconds from the first start to the last end when every job starts as soon as it can, longest first.

    Args:
        jobs: each after the jobs that it waits for.
        processors: how many there are; a job that wants more takes all.
        delay: seconds between a job being ready and its start (a cluster's queue and start-up).
    """
    # A job's weight is the longest way from it to the end.
    weight = [job.seconds for job in jobs]
    for place in range(len(jobs) - 1, -1, -1):
        for before in jobs[place].after:
            weight[before] = max(weight[before], jobs[before].seconds + weight[place])
    waiting = [len(set(job.after)) for job in jobs]
    followers: list[list[int]] = [[] for _ in jobs]
    for place, job in enumerate(jobs):
        for before in set(job.after):
            followers[before].append(place)
    ready = [(-weight[place], place) for place, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []
    now, free = 0.0, processors
    while ready or running:
        postponed = []
        while ready:
            entry = heapq.heappop(ready)
            wanted = min(jobs[entry[1]].threads, processors)
            if wanted <= free:
                free -= wanted
                heapq.heappush(running, (now + delay + jobs[entry[1]].seconds, entry[1]))
            else:
                postponed.append(entry)
        for entry in postponed:
            heapq.heappush(ready, entry)
        now, done = heapq.heappop(running)
        free += min(jobs[done].threads, processors)
        for place in followers[done]:
            waiting[place] -= 1
            if not waiting[place]:
                heapq.heappush(ready, (-weight[place], place))
    return now
