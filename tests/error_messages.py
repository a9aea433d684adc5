"""Every message for users that a test provokes: recorded, checked, and kept for the page of `make error-messages`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from attention_atlas.errors import AtlasError

VARIABLE = "ATLAS_ERROR_MESSAGES"
"""Environment variable: the file to which messages are added, one JSON object per line."""
LIBRARY = Path(__file__).resolve().parents[1] / "workflow" / "lib"
_ERRORS = str(LIBRARY / "attention_atlas" / "errors.py")

IN_LOGS = "logs of jobs:0"
"""Place of a message that a job of another process logs: its line in the library is not known here."""
_LOGGED = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ERROR (?!rule \w+ failed$)(.+(?:\n- .+)*)", re.MULTILINE)
_printed: list[str] = []

# What users wrote is quoted, and what libraries say stands in brackets: neither is a sentence of ours.
_QUOTED = re.compile(r"(?<![\w])'(?:\\.|[^'\\])*'|(?<![\w])\"(?:\\.|[^\"\\])*\"|`[^`]*`|\((?:[^()]|\([^()]*\))*\)")
_FACTS = re.compile(r"\b(?:Licence|Expected layout|Known|Known keys|Found|Columns|Keys|Runs): .*?\.(?=\s+[A-Z]|\s*$)")
"""What stands after a sentence as a list: names to choose from, a licence, a layout."""
_END = re.compile(r"[.?!](?=\s+[A-Z`]|\s*$)")
_MOST = 2
_PLACE = re.compile(
    r"/|\w\.\w{2,}|`[^`]+`|\b[a-z][a-z0-9_]*: ?[\w\[{\"'<]|^config|\b(?:example|document|corpus|model|package|data set|run) \S|"
    r"\b[A-Z][a-z0-9]+[A-Z]\w+|session\.\w+|\w+_\w+"
)
"""A path, a dotted name, a key with its value, a key between backticks, an example or a class."""
_NOT_TERMS = {
    r"(?<!word )(?<!word-)(?<!Word)\b[Pp]ieces?\b": "word piece, token",
    r"\bhidden pieces?\b": "masked token",
    r"\bmended\b": "fixed",
    r"\bput to\b": "evaluated on",
    r"\btold of\b": "reported",
    r"\bsettled?\b": "resolve",
    r"\bweighed\b": "importance-scored",
    r"\bmade uniform\b": "disabled (uniform attention)",
    r"\bblank model\b": "untrained model",
    r"\bcuts\b": "splits, removes",
    r"\bthe words? that is due\b": "expected",
    r"\botherwise than\b": "differently from",
    r"(?<!there )\bis no\b(?! longer)": "is not a",
    r"\bto its end\b": "completely",
    r"\bparted\b": "separated",
}
"""Words that terms.md and the style of the project leave out -> what to write."""


@dataclass(frozen=True)
class Message:
    """A message, where the library raised it, and the test that provoked it."""

    text: str
    site: str
    test: str = ""


def faults(text: str) -> list[str]:
    """What is wrong with a message, in a few words each."""
    # Of several of one kind, each has a line of its own.
    lines = [line for line in text.splitlines() if not line.startswith("- ")]
    ours = _FACTS.sub("", _QUOTED.sub("", " ".join(lines)))
    problems = []
    if (sentences := len(_END.findall(ours))) > _MOST:
        problems.append(f"{sentences} sentences")
    if "Traceback" in text:
        problems.append("a traceback")
    if not _PLACE.search(text):
        problems.append("names no file, key or example")
    problems += [f"{word.group()!r}: say {better}" for term, better in _NOT_TERMS.items() if (word := re.search(term, ours))]
    return problems


def keep_logged(output: str) -> None:
    """Record the messages that jobs logged, from what Snakemake printed: it shows the logs of jobs that failed."""
    _printed.extend(dict.fromkeys(_LOGGED.findall(output)))


@contextlib.contextmanager
def recorded() -> Iterator[list[Message]]:
    """Messages that the library raises in this process, and those of `keep_logged`."""
    messages: list[Message] = []
    before = _printed.copy()
    _printed.clear()
    plain = AtlasError.__init__

    def init(self: AtlasError, *arguments: object) -> None:
        plain(self, *arguments)
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == _ERRORS:
            frame = frame.f_back
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(LIBRARY):
            messages.append(Message(str(self), f"{path.relative_to(LIBRARY)}:{frame.f_lineno}"))

    AtlasError.__init__ = init  # type: ignore[method-assign]
    try:
        yield messages
    finally:
        AtlasError.__init__ = plain  # type: ignore[method-assign]
        messages += [Message(text, IN_LOGS) for text in _printed]
        _printed[:] = before


def check(messages: list[Message], test: str) -> None:
    """Keep messages for the page, and fail where one breaks the rules.

    Raises:
        AssertionError: names the message, where it is raised, and what is wrong with it.
    """
    if place := os.environ.get(VARIABLE):
        # One of each kind and test: hypothesis provokes hundreds.
        firsts = {(message.site, message.text if message.site == IN_LOGS else ""): message for message in reversed(messages)}
        with open(place, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(message) | {"test": test}) + "\n" for message in firsts.values())
    wrong = {message: found for message in messages if (found := faults(message.text))}
    lines = [f"{message.site}: {', '.join(found)}:\n    {message.text}" for message, found in wrong.items()]
    assert not lines, "messages for users:\n" + "\n".join(dict.fromkeys(lines))
