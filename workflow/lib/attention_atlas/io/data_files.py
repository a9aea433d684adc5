"""The data files of the library: beside `lib` in a checkout, inside the package in a wheel (see setup.py)."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT = "workflow/resources"


def data_folder(name: str) -> Path:
    """The folder `resources` or `schemas`."""
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parents[1] / name


RESOURCES = data_folder("resources")
"""Published values, annotated maps, parts of pages."""
SCHEMAS = data_folder("schemas")
"""Schemas of the configuration and of the settings of each study."""


def with_data_file(path: Path) -> Path:
    """A path of the configuration; a path below workflow/resources is resolved to the library's file from any directory."""
    return RESOURCES / path.relative_to(_CHECKOUT) if path.is_relative_to(_CHECKOUT) else path
