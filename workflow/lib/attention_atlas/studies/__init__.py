"""The studies: a folder each. A study is declared in its module `study`, its measures of single heads in `head_measures`."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType


def study_modules(name: str) -> list[ModuleType]:
    """The module `name` of every study that has one, in the order of the studies' ids.

    The digest of a job's code (`workflow.provenance`) follows calls of this function, if the name is given as it is.
    """
    folders = sorted(path.parent.name for path in Path(__file__).parent.glob(f"*/{name}.py"))
    return [importlib.import_module(f"{__name__}.{folder}.{name}") for folder in folders]
