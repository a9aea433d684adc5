"""The atlas: one row a head over all studies, correlations between measures, and findings across papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attention_atlas.atlas.built import BuiltAtlas


def load(folder: str | Path) -> BuiltAtlas:
    """The atlas of a built run as data, see `built.load`."""
    # The workflow reads this package at every start; tables need pandas, which takes most of a second.
    from attention_atlas.atlas import built

    return built.load(folder)
