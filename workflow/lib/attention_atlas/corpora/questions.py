"""Questions on passages as model inputs: words with their offsets in the passage, in windows that fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attention_atlas.corpora.alignment import WordPieces, last_that_fits
from attention_atlas.corpora.layers import QuestionAnnotation
from attention_atlas.corpora.squad import Answer, Question
from attention_atlas.corpora.text import WORD, spaces_in


@dataclass(frozen=True)
class QuestionWindow:
    """A question with a window of its passage.

    Attributes:
        id: name of the question; windows after the first add their number.
        question, window: words of both texts, each with its word pieces.
        annotation: passage, answers and word offsets.
    """

    id: str
    question: tuple[tuple[str, tuple[int, ...]], ...]
    window: tuple[tuple[str, tuple[int, ...]], ...]
    annotation: QuestionAnnotation


def question_windows(question: Question, pieces: WordPieces, bound: int, windows: str, stride: int) -> list[QuestionWindow]:
    """Cut a passage into windows that fit with the question into `bound` tokens, including special tokens.

    Words are runs of letters and digits, and single other characters; characters that the tokenizer drops are omitted.

    Args:
        question: question, passage and answers.
        pieces: the tokenizer.
        bound: longest input in tokens.
        windows: first: only the beginning of the passage; all: also further windows, each `stride` tokens after the last.
        stride: tokens between the starts of two windows.

    Returns:
        The windows; empty if the question leaves no room for a word of its passage.
    """
    question_words = _spelled(question.question, pieces)
    passage = _spelled(question.context, pieces)
    room = bound - pieces.pair.specials - sum(len(ids) for _, _, ids in question_words)
    passage_windows: list[QuestionWindow] = []
    for first, stop in _cuts([len(ids) for _, _, ids in passage], room, windows, stride):
        inside = passage[first:stop]
        number = len(passage_windows) + 1
        annotation = QuestionAnnotation(
            question=question.id,
            context=question.context,
            size=len(question_words),
            starts=tuple(match.start() for _, match, _ in inside),
            stops=tuple(match.end() for _, match, _ in inside),
            answers=tuple(answer.text for answer in question.answers),
            span=_span(question.answers[0], [match for _, match, _ in inside], len(question_words)),
        )
        passage_windows.append(
            QuestionWindow(
                question.id if number == 1 else f"{question.id}#{number}",
                tuple((word, ids) for word, _, ids in question_words),
                tuple((word, ids) for word, _, ids in inside),
                annotation,
            )
        )
    return passage_windows


def _spelled(text: str, pieces: WordPieces) -> list[tuple[str, re.Match[str], tuple[int, ...]]]:
    matches = list(WORD.finditer(text))
    words = [match[0] for match in matches]
    spelled = pieces.pieces(words, spaces_in(text, words))
    return [(match[0], match, ids) for match, ids in zip(matches, spelled, strict=True) if ids]


def _cuts(sizes: Sequence[int], room: int, windows: str, stride: int) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) word of each window of at most `room` tokens."""
    first = 0
    while first < len(sizes):
        stop = last_that_fits(sizes, first, room)
        if stop == first:
            return  # no word fits
        yield first, stop
        if windows == "first" or stop == len(sizes):
            return
        moved = 0
        while first < stop and moved < stride:
            moved += sizes[first]
            first += 1


def _span(answer: Answer, words: Sequence[re.Match[str]], size: int) -> tuple[int, int] | None:
    """Words of the example with the answer, if all of it lies in the window."""
    end = answer.start + len(answer.text)
    inside = [k for k, word in enumerate(words) if word.end() > answer.start and word.start() < end]
    if not inside or words[inside[0]].start() > answer.start or words[inside[-1]].end() < end:
        return None
    return size + inside[0], size + inside[-1] + 1
