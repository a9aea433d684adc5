"""The studies: a folder each. A study is declared in its module `study`, its measures of single heads in `head_measures`."""

from __future__ import annotations

import importlib
from importlib import resources
from types import ModuleType


def study_modules(name: str) -> list[ModuleType]:
    """The module `name` of every study that has one, in the order of the studies' ids.

    The digest of a job's code (`workflow.provenance`) follows calls of this function, if the name is given as it is.
    """
    folders = [item.name for item in resources.files(__name__).iterdir() if item.joinpath(f"{name}.py").is_file()]
    return [importlib.import_module(f"{__name__}.{folder}.{name}") for folder in sorted(folders)]
