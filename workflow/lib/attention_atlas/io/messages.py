"""Progress of long loops, and messages without the hub's access tokens."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
_log = logging.getLogger(__name__)


def progress(items: Iterable[Item], total: int | None = None, label: str = "") -> Iterator[Item]:
    """Yield `items` and show the progress of the loop; if standard error is not a terminal, in the log every 30 seconds."""
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, desc=label)
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    start = last = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= 30:
            last = now
            share = f" of {total} ({100 * done / total:.0f} %)" if total else ""
            _log.info("%s: %d%s after %.0f s", label, done, share, now - start)


TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_SECRETS = re.compile(
    r"\bhf_[A-Za-z0-9]{8,}"  # tokens of the hub
    r"|(?<=://)[^/\s@]+(?=@)"  # user and password of an address
    r"|(?<=[?&])(?P<name>[\w.-]*(?:token|secret|password|signature|key)=)[^&#\s'\"]+",
    re.IGNORECASE,
)
HIDDEN = "(token)"


def redacted(text: str) -> str:
    """The text without access tokens of the Hugging Face hub, passwords and keys in addresses, or what looks like them."""
    for name in TOKEN_VARIABLES:
        if value := os.environ.get(name):
            text = text.replace(value, HIDDEN)
    return _SECRETS.sub(lambda found: f"{found['name'] or ''}{HIDDEN}", text)


class RedactingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
