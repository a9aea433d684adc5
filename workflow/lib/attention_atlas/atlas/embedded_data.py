"""The data that a page of the atlas carries: JSON, compressed, in one element of the page. Its library is compressed, too."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_atlas.errors import DamagedFile

_ELEMENT = re.compile(r'(<script type="application/gzip" id="data">)([^<]*)(</script>)')


def embedded(data: Mapping[str, Any]) -> str:
    """Text of the element: gzip of the JSON in base64. The same data always give the same text.

    A model of 24 x 16 heads has some 4 MB of JSON, which compresses to a third.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    return compressed(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def compressed(text: str) -> str:
    """A text in base64 of its gzip form; the same text always gives the same characters."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def data_of_page(page: str) -> dict[str, Any]:
    """The data in the text of a page.

    Raises:
        ValueError: the page carries no data, or they are damaged.
    """
    match = _ELEMENT.search(page)
    if match is None:
        raise ValueError("it has no element with data")
    try:
        data = json.loads(gzip.decompress(base64.b64decode(match[2], validate=True)))
    except (OSError, EOFError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(data, dict):
        raise ValueError("its data are no dictionary")
    return data


def with_data(page: str, data: Mapping[str, Any]) -> str:
    """The text of a page with its data replaced."""
    return _ELEMENT.sub(lambda match: f"{match[1]}{embedded(data)}{match[3]}", page, count=1)


def read_page(path: Path) -> tuple[str, dict[str, Any]]:
    """Text and data of a page of the atlas.

    Raises:
        DamagedFile: the file cannot be read, or is not the page of an atlas.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = data_of_page(text)
    except (OSError, ValueError) as error:
        raise DamagedFile(path, f"this page does not have the data of an atlas ({error})") from error
    if not {"sentences", "evidence", "others", "name"} <= data.keys():
        raise DamagedFile(path, "this page does not have the data of an atlas")
    return text, data
