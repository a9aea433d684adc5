"""Files in nested mappings as parameters of a rule, and as a flat list for its input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attention_atlas.workflow.inputs.shared import Files, Wildcards

Nested = Callable[[Wildcards], Mapping[Any, Any]]
"""Function from wildcards to files by one or several levels of keys."""


def leaves(by_key: Nested) -> Files:
    """All files of a nested parameter, in order, without duplicates."""

    def listed(group: Any) -> list[str]:
        if isinstance(group, str):
            return [group]
        return [path for part in group.values() for path in listed(part)]

    def files(wildcards: Wildcards) -> list[str]:
        return list(dict.fromkeys(listed(by_key(wildcards))))

    return files
