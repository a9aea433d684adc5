"""Regular expressions of names for wildcards."""

from __future__ import annotations

import re
from collections.abc import Iterable

NAME = "[a-z0-9][a-z0-9.-]*"
"""Pattern of names of models and corpora (`name` in the schema): a list of all of them would take longer to compile than all
else that a start does."""


def one_of(names: Iterable[str]) -> str:
    """Pattern that matches exactly the listed names; without names it matches nothing."""
    return "|".join(re.escape(name) for name in names) or "(?!)"
