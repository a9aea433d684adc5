"""Patterns of names for wildcards."""

from __future__ import annotations

import re
from collections.abc import Iterable


def one_of(names: Iterable[str]) -> str:
    """Pattern that matches exactly some names, and nothing where there are none."""
    return "|".join(re.escape(name) for name in names) or "(?!)"
