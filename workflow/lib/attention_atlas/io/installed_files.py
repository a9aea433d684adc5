"""Text files of installed packages, such as scripts that are embedded in pages."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from attention_atlas.errors import AtlasError


def installed_text(package: str, name: str) -> str:
    """Text of a file of an installed package, without importing the package.

    Args:
        package: name of the distribution.
        name: name of the file, without its folder.

    Raises:
        AtlasError: the package is not installed or has no such file.
    """
    try:
        path = next(file for file in files(package) or () if file.name == name)
    except (PackageNotFoundError, StopIteration) as error:
        raise AtlasError(f"the package {package} with {name} is not installed: pip install {package}.") from error
    return Path(path.locate()).read_text(encoding="utf-8")


def script_text(package: str, name: str) -> str:
    """The same for a script embedded in a page: escaped so that it cannot close its script element.

    Raises:
        AtlasError: the package is not installed or has no such file.
    """
    return installed_text(package, name).replace("</script", "<\\/script")
