"""Redaction of the hub's access tokens in messages and logs."""

from __future__ import annotations

import logging
import os
import re

TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{8,}")
HIDDEN = "(token)"


def redacted(text: str) -> str:
    """The text without access tokens of the Hugging Face hub, or anything that looks like one."""
    for name in TOKEN_VARIABLES:
        if value := os.environ.get(name):
            text = text.replace(value, HIDDEN)
    return _TOKEN.sub(HIDDEN, text)


class RedactingFormatter(logging.Formatter):
    """A formatter that removes tokens from log lines and tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
