"""Answering questions on passages: the best answer span by a model's scores."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attention_atlas.corpora.examples import Example, question_of

LONGEST_ANSWER = 30
"""Maximum number of tokens in an answer, as in the published evaluation scripts for SQuAD."""


def span_of_pieces(example: Example) -> tuple[int, int] | None:
    """First and last token of the first reference answer, None if the window does not contain it."""
    if example.question is None or example.question.span is None:
        return None
    first, stop = example.question.span
    inside = [piece for piece, word in enumerate(example.word) if first <= word < stop]
    return inside[0], inside[-1]


def passage_pieces(batch: Sequence[Example], length: int) -> torch.Tensor:
    """[example, length] whether a token belongs to the passage, and not to padding, question or special tokens.

    Raises:
        AtlasError: an example has no question.
    """
    allowed = torch.zeros((len(batch), length), dtype=torch.bool)
    for row, example in enumerate(batch):
        allowed[row, : len(example.word)] = torch.tensor(example.word) >= question_of(example).size
    return allowed


def best_spans(
    start: torch.Tensor, end: torch.Tensor, allowed: torch.Tensor, longest: int = LONGEST_ANSWER
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The span of at most `longest` passage tokens with the largest sum of start and end score.

    Args:
        start, end: [example, token] scores.
        allowed: [example, token] from `passage_pieces`.
        longest: maximum number of tokens in a span.

    Returns:
        First token, last token and score of each example, [example] each.
    """
    length = start.shape[1]
    low = torch.finfo(torch.float32).min / 4
    first, last = start.float().masked_fill(~allowed, low), end.float().masked_fill(~allowed, low)
    # Ends 0 .. longest - 1 tokens after each start, but not beyond the input.
    windows = torch.nn.functional.pad(last, (0, longest - 1), value=low).unfold(1, longest, 1)
    scores, place = (first[:, :, None] + windows).flatten(1).max(dim=1)
    starts = place // longest
    return starts, (starts + place % longest).clamp(max=length - 1), scores


def answer_texts(
    batch: Sequence[Example], start: torch.Tensor, end: torch.Tensor, allowed: torch.Tensor
) -> list[tuple[str, float]]:
    """Answer (whole words of the passage) and score for each example of a batch.

    Args:
        batch: the examples.
        start, end: [example, token] scores of the model.
        allowed: [example, token] from `passage_pieces`.
    """
    firsts, lasts, scores = best_spans(start, end, allowed)
    answers = []
    for example, first, last, score in zip(batch, firsts.tolist(), lasts.tolist(), scores.tolist(), strict=True):
        answers.append((question_of(example).text(example.word[first], example.word[last] + 1), score))
    return answers
