"""The atlas: one row per head over all studies, correlations between measures, and findings across papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attention_atlas.atlas.built import BuiltAtlas


def load(folder: str | Path) -> BuiltAtlas:
    """The atlas of a built run as data, see `built.load`."""
    # The workflow imports this package at every start; importing pandas would take most of a second.
    from attention_atlas.atlas import built

    return built.load(folder)
