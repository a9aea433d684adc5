"""The studies: a folder each. A study is declared in its module `study`, its measures of single heads in `head_measures`."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from types import ModuleType


def study_modules(name: str) -> list[ModuleType]:
    """The module `name` of every study that has one, in the order of the studies' ids.

    The digest of a job's code (`workflow.provenance`) follows calls of this function, if the name is given as it is.
    """
    paths = [f"{__name__}.{folder.name}.{name}" for folder in pkgutil.iter_modules(__path__)]
    return [importlib.import_module(path) for path in paths if importlib.util.find_spec(path)]
