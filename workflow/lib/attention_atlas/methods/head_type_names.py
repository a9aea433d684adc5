"""Names of the types of heads by distance (Guan et al. 2020); imports nothing heavy."""

from collections.abc import Iterable

DENSE, DENSE_VERTICAL, VERTICAL, DIAGONAL = "dense", "dense_vertical", "vertical", "diagonal"

TYPES = (DENSE, DENSE_VERTICAL, VERTICAL, DIAGONAL)
UNNAMED = "unnamed"
"""Type of heads in a cluster that does not fit the type assigned to it."""

TITLES = {
    DENSE: "Dense",
    DENSE_VERTICAL: "Dense & vertical",
    VERTICAL: "Vertical",
    DIAGONAL: "Diagonal",
    UNNAMED: "Unnamed",
}


def shown_types(types: Iterable[str]) -> tuple[str, ...]:
    """`TYPES`, and `UNNAMED` if a head has no type."""
    return (*TYPES, UNNAMED) if UNNAMED in set(types) else TYPES
