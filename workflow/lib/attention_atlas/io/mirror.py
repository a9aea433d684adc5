"""The mirror folder, which is searched before any download."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MIRROR_VARIABLE = "ATLAS_DATA"


def in_mirror(source: Mapping[str, Any], mirror: str | Path | None = None) -> Path | None:
    """Path of a source in the mirror folder (default: from the environment), None without a mirror or a path in it."""
    folder = mirror or os.environ.get(MIRROR_VARIABLE)
    return Path(folder, source["mirror"]) if folder and "mirror" in source else None


def repository_in_mirror(kind: str, repository: str, mirror: str | Path | None = None) -> Path | None:
    """Path of a hub repository in the mirror folder: hub/models/OWNER/NAME or hub/datasets/OWNER/NAME."""
    return in_mirror({"mirror": f"hub/{kind}/{repository}"}, mirror)
