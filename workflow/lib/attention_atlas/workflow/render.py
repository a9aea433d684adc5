"""The job of a page: call its function with the files and parameters that the page declares."""

from __future__ import annotations

import importlib
import inspect
import shutil
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from types import NoneType
from typing import Any

from attention_atlas.io.run_label import RunLabel

PICTURES = ("svg", "png", "pdf")
COPY = "copy_of__"
"""Prefix of the name of an output that is a copy of an input, before the input's parameter."""
_LABEL = set(RunLabel.__dataclass_fields__)


def render(function: str, files: Mapping[str, Any], outputs: Mapping[str, str], params: Mapping[str, Any]) -> None:
    """Call the function of a page.

    Args:
        function: `module:function` below attention_atlas.
        files: parameter -> path, or a list of them; `tables__surface` for an attribute of a parameter.
        outputs: parameter -> path, grouped like `files`; the images of a figure as svg, png and pdf; with `COPY`, copies of
            inputs.
        params: parameter -> value.
    """
    module, _, name = function.partition(":")
    call = getattr(importlib.import_module(f"attention_atlas.{module}"), name)
    pictures = {kind: path for kind, path in outputs.items() if kind in PICTURES}
    copies = {parameter: path for parameter, path in outputs.items() if parameter.startswith(COPY)}
    written = {parameter: path for parameter, path in outputs.items() if parameter not in (*PICTURES, *copies)}
    arguments: dict[str, Any] = {**params} | ({"pictures": pictures} if pictures else {})
    for parameter, value in (*files.items(), *written.items()):
        group, _, attribute = parameter.partition("__")
        if attribute:
            arguments.setdefault(group, {})[attribute] = value
        else:
            arguments[parameter] = value
    hints = typing.get_type_hints(call)
    unknown = arguments.keys() - inspect.signature(call).parameters.keys()
    if unknown:
        raise TypeError(f"{function} has no parameter {', '.join(sorted(unknown))}")
    call(**{parameter: _as(hints.get(parameter), value) for parameter, value in arguments.items()})
    for parameter, path in copies.items():
        shutil.copyfile(files[parameter.removeprefix(COPY)], path)


def _as(hint: Any, value: Any) -> Any:
    """A value converted to the type of its parameter: labels to `RunLabel`, attributes to a dataclass, no file to None."""
    if isinstance(value, Mapping):
        if value.keys() == _LABEL:
            return RunLabel(**value)
        if isinstance(hint, type) and is_dataclass(hint):
            hints = typing.get_type_hints(hint)
            return hint(**{name: _as(hints[name], item) for name, item in value.items()})
        return {name: _as(None, item) for name, item in value.items()}
    if isinstance(value, list) and NoneType in typing.get_args(hint):
        return next(iter(value), None)
    return value
