"""Access tokens of the hub stay out of messages and logs."""

from __future__ import annotations

import logging
import os
import re

TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{8,}")
HIDDEN = "(token)"


def redacted(text: str) -> str:
    """The text without anything that is, or looks like, an access token of the Hugging Face hub."""
    for name in TOKEN_VARIABLES:
        if value := os.environ.get(name):
            text = text.replace(value, HIDDEN)
    return _TOKEN.sub(HIDDEN, text)


class RedactingFormatter(logging.Formatter):
    """A formatter whose lines, tracebacks included, hold no token."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
