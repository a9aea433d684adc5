"""Local folder of a model's files. Imports nothing heavy, because every start runs this code."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_atlas.io.hub_files import MODELS, at_hand


def packaged_folder(source: Mapping[str, Any]) -> Path | None:
    """Folder of a source of kind package; None if the package is not installed. The package is not imported."""
    try:
        spec = importlib.util.find_spec(source["module"])
    except ModuleNotFoundError:  # the parent package is not installed
        spec = None
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / source["folder"]


def model_folder(source: Mapping[str, Any], mirror: str | Path | None = None) -> Path | None:
    """Folder of a source of kind package, path or hub; None if its files are not on this machine.

    Args:
        source: source in a model's registry entry.
        mirror: see `hub_files.at_hand`.

    Raises:
        AtlasError: the mirror has a different commit of the repository.
    """
    if "package" in source:
        return packaged_folder(source)
    if "path" in source:
        folder = Path(source["path"])
        return folder if folder.is_dir() else None
    return at_hand(MODELS, source, mirror)
