"""Time and memory: candidates take turns, so that a busy machine slows all alike; a peak needs a process of its own."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1] / "workflow" / "lib"


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


def in_process(module: str, call: str) -> list[float]:
    """The numbers that a call of a function of a benchmark prints, in a process of its own, and its peak memory in MiB."""
    code = (
        f"import sys; sys.path.insert(0, {str(LIBRARY)!r}); import benchmarks.{module} as b; print(b.{call}); "
        # `getrusage` would count what the process that started this one had before.
        "print(int(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]) / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=LIBRARY.parents[1])
    return [float(line) for line in done.stdout.split() if line != "None"]
