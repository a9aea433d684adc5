"""Coverage of intervals: of a single one, and of each of several that are to cover at the same time."""

from __future__ import annotations

LEVEL = 0.95
"""Coverage of the interval of a claim."""


def level_of_parts(parts: int, level: float = LEVEL) -> float:
    """Coverage of each of several intervals so that all of them cover with at least `level` (Bonferroni)."""
    return 1 - (1 - level) / parts
