"""Tags of words: predictions of models with a tagging head, read from the first token of each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from attention_atlas.attention.batch_sizes import EXTRACTION_TOKENS
from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.plans import Plan
from attention_atlas.attention.prefix import outputs_under
from attention_atlas.attention.words import unit_starts
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.keyphrases import BEGIN, INSIDE, OUTSIDE
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.models.translating import UNCOUNTED

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TAGS = (BEGIN, INSIDE, OUTSIDE)
"""Tags in the order of a model's outputs."""


def gold_tags(example: Example) -> tuple[str, ...]:
    """The tag of each word.

    Raises:
        AtlasError: the example has no tags.
    """
    if "tags" not in example.layers:
        raise AtlasError(f"example {example.id} has no tags: use a corpus with reader keyphrases.")
    return example.layers["tags"]


def first_pieces(example: Example) -> list[int]:
    """Position of the first token of each word."""
    return [int(k) for k in unit_starts(example.word) if example.word[k] != SPECIAL]


def tag_numbers(example: Example) -> list[int]:
    """For the first token of each word, the number of the word's tag (`TAGS`); for others, the label that the loss ignores."""
    numbers = [UNCOUNTED] * len(example.input_ids)
    for place, tag in zip(first_pieces(example), gold_tags(example), strict=True):
        numbers[place] = TAGS.index(tag)
    return numbers


def tags_under(
    model: PreTrainedModel,
    examples: Sequence[Example],
    plans: Sequence[Plan],
    pad: int,
    batch_tokens: int = EXTRACTION_TOKENS,
) -> list[list[str]]:
    """[1 + plan][example] tags of the words as one string of letters, for the unchanged model and under each plan.

    Examples of similar length share a batch; each plan starts from the states of the unchanged pass below its first layer.
    """
    rows = {example.record: row for row, example in enumerate(examples)}
    tags = [[""] * len(examples) for _ in range(1 + len(plans))]
    for batch in progress(list(batch_by_length(examples, batch_tokens)), label="batches of documents"):
        inputs = model_inputs(model, batch, pad)
        places = [first_pieces(example) for example in batch]
        for number, output in enumerate(outputs_under(model, inputs, ((plan, None) for plan in plans))):
            best_tags = output.logits.argmax(dim=-1).cpu()
            for example, piece_tags, first_places in zip(batch, best_tags, places, strict=True):
                tags[number][rows[example.record]] = "".join(TAGS[k] for k in piece_tags[first_places].tolist())
    return tags


def tag_loss(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
    """Cross-entropy of the tags, summed over the words of a batch."""
    rows = [torch.tensor(tag_numbers(example), device=model.device) for example in batch]
    targets = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=UNCOUNTED)
    logits = model(**inputs).logits.float()
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, ignore_index=UNCOUNTED, reduction="sum")
