"""Progress of the jobs of a workflow, and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

_PRIOR_SECONDS = 60.0
"""Weight of expected relative to measured times, so that one slow first job does not double the time left."""
_LEAST_REST = 0.05
"""Minimum share of its expected time that a running job is assumed to need still."""


class JobProgress:
    """Jobs done, jobs running and the time left.

    The expected time of each job is scaled by how long the finished jobs took relative to theirs.

    Args:
        processors: number of processors that jobs share; None on a cluster, where it is the number of running jobs.
        clock: seconds from any origin.
    """

    def __init__(self, processors: int | None = 1, clock: Callable[[], float] = time.monotonic):
        self.processors = processors
        self._clock = clock
        self._begin = clock()
        self._expected: dict[int, float] = {}
        self._started: dict[int, float] = {}
        self._names: dict[int, str] = {}
        self._measured = self._planned = 0.0
        self.total = 0
        self.done: set[int] = set()
        self.failed: dict[int, str] = {}

    def begin(self, total: int) -> None:
        """Start counting with the total number of jobs."""
        self._begin, self.total = self._clock(), total

    def expect(self, seconds: Mapping[int, float]) -> None:
        """Set the expected processor seconds of each job id."""
        self._expected = dict(seconds)

    def start(self, job: int, name: str) -> None:
        """Record that a job has started, possibly again after a failure."""
        self._started[job], self._names[job] = self._clock(), name
        self.failed.pop(job, None)

    def finish(self, job: int) -> None:
        """Record that a job has succeeded."""
        started = self._started.pop(job, None)
        self.done.add(job)
        if started is not None and job in self._expected:
            self._planned += self._expected[job]
            self._measured += self._clock() - started

    def fail(self, job: int) -> None:
        """Record that a job has failed."""
        self._started.pop(job, None)
        self.failed[job] = self._names.get(job, f"job {job}")

    @property
    def elapsed(self) -> float:
        """Seconds since the first job could start."""
        return self._clock() - self._begin

    @property
    def fraction(self) -> float:
        """Share of finished jobs, 0 to 1."""
        return len(self.done) / self.total if self.total else 0.0

    @property
    def running(self) -> str:
        """The job that has been running longest, and the number of other running jobs; empty if none runs."""
        started = sorted(self._started.copy().items(), key=lambda item: item[1])
        if not started:
            return ""
        others = f" +{len(started) - 1}" if len(started) > 1 else ""
        return f"{self._names[started[0][0]]}{others}"

    def seconds_left(self) -> float | None:
        """Seconds until the last job ends; None if nothing is known yet."""
        now, running = self._clock(), self._started.copy()
        if not self._expected:
            return self.elapsed / len(self.done) * (self.total - len(self.done)) if self.done else None
        pace = (self._measured + _PRIOR_SECONDS) / (self._planned + _PRIOR_SECONDS)
        waiting = sum(
            seconds
            for job, seconds in self._expected.items()
            if job not in self.done and job not in self.failed and job not in running
        )
        rests = [
            max(self._expected.get(job, 0.0) * pace - (now - started), _LEAST_REST * self._expected.get(job, 0.0))
            for job, started in running.items()
        ]
        shared = (waiting * pace + sum(rests)) / (self.processors or max(len(running), 1))
        return max(shared, max(rests, default=0.0))


def duration(seconds: float) -> str:
    """A time in words, rounded like an estimate."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
