"""Progress of long loops: a bar on a terminal, plain log lines now and then everywhere else."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
_log = logging.getLogger(__name__)


def progress(items: Iterable[Item], total: int | None = None, label: str = "", every_s: float = 30.0) -> Iterator[Item]:
    """Yield `items`, showing how far the loop is.

    Args:
        items: anything that can be iterated over.
        total: number of items, where `len` does not tell.
        label: what is being worked on.
        every_s: seconds between two log lines when standard error is no terminal.
    """
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, desc=label)
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    start = last = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= every_s:
            last = now
            share = f" of {total} ({100 * done / total:.0f} %)" if total else ""
            _log.info("%s: %d%s after %.0f s", label, done, share, now - start)
