"""A model fine-tuned on tags as an `Experiment` (`methods.experiment`), for masking and importance of heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.attention.engine import attention_shape
from attention_atlas.attention.plans import Plan, SiteKind
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.models.tagging import gold_tags, tag_loss, tags_under

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Tagging:
    """A tagger; loss: cross-entropy, summed over words."""

    model: PreTrainedModel
    pad: int
    name: str = "tagging"

    @property
    def shape(self) -> Mapping[SiteKind, tuple[int, int]]:
        """Layers and heads of each kind of attention."""
        return attention_shape(self.model)

    def expected(self, examples: Sequence[Example]) -> list[str]:
        """Gold tags of each document, one letter per word.

        Raises:
            AtlasError: a document has none, or there is no document.
        """
        if not examples:
            raise AtlasError("there is no document to tag: raise the limit of the corpus, or its max_tokens.")
        return ["".join(gold_tags(example)) for example in examples]

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        """Tags of each document unchanged, then under each plan."""
        return tags_under(self.model, examples, plans, self.pad)

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        """The loss summed over the documents of a batch."""
        return tag_loss(self.model, inputs, batch)


def open_tagging(model_entry: Mapping[str, Any], card_path: str | Path) -> Tagging:
    """Load a tagger in float32 (derivatives by head gates are small).

    Raises:
        AtlasError: the model cannot be loaded, or has no head for tags.
    """
    model = load_trained({**model_entry, "dtype": "float32"}, "tags", pick_device())
    return Tagging(model, read_card(card_path).pad or 0)
