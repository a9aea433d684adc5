"""Gold layers of examples that are not word by word: questions, targets of edge probing, keyphrases.

This module is separate from the readers of corpora, so that code that reads examples does not depend on corpus formats.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QuestionAnnotation:
    """A question on the words of an example: its passage, and its answers."""

    question: str  # the question's id, the same for all windows of its passage
    context: str
    size: int  # number of words in the question; they come before those of the window
    starts: tuple[int, ...]  # starts, stops: for each word of the window its characters start .. stop - 1 in the passage
    stops: tuple[int, ...]
    answers: tuple[str, ...]
    # words start .. stop - 1 of the example with the first reference answer, None if it is not in the window
    span: tuple[int, int] | None

    def text(self, start: int, stop: int) -> str:
        """The passage from word `start` to word `stop` - 1 of the example, both in the window."""
        return self.context[self.starts[start - self.size] : self.stops[stop - 1 - self.size]]


WordSpan = tuple[int, int]

EDGE_TASKS = {
    "pos": "Parts of speech",
    "constituents": "Constituents",
    "dependencies": "Dependencies",
    "entities": "Entities",
    "roles": "Semantic roles",
    "coreference": "Coreference",
    "protoroles": "Proto-roles",
    "relations": "Relations",
}
"""The eight tasks in the paper's order -> their names in tables and figures."""


@dataclass(frozen=True)
class EdgeTarget:
    """A target of edge probing: one span or a pair of spans, with its labels."""

    span1: WordSpan  # span1, span2: words start to stop - 1, from 0; span2 is None for tasks with one span
    span2: WordSpan | None
    labels: tuple[str, ...]  # all correct labels; empty if no label applies
    task: str = ""  # name of the task, if a file has several


@dataclass(frozen=True)
class Keyphrase:
    """A gold phrase of a document, and whether it is in its text."""

    text: str
    present: bool
