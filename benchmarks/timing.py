"""Side-by-side timing: the candidates take turns, so that a busy machine slows all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def side_by_side(candidates: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each candidate over `rounds` rounds, after one round of warm-up."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(rounds + 1):
        for name, action in candidates.items():
            start = time.perf_counter()
            action()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def report(medians: Mapping[str, float], reference: str) -> None:
    """Print each candidate with its ratio to the reference."""
    for name, value in medians.items():
        print(f"{name:<62} {value:8.3f} s   {value / medians[reference]:6.2f} x {reference}")
