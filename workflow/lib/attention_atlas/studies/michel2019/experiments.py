"""The two experiments: answers of a translation model and a classifier under plans, and the loss for head importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.attention.engine import ENCODER_SELF, attention_shape
from attention_atlas.attention.plans import Plan, SiteKind
from attention_atlas.corpora.alignment import open_tokenizer
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.methods.experiment import Experiment
from attention_atlas.methods.masking import KINDS
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.models.card import read_card
from attention_atlas.models.classifying import classes_of, labels_of, logits_under, predicted
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained, locate
from attention_atlas.models.marian_tokenizer import TARGET, is_marian, marian_tokenizer
from attention_atlas.models.translating import references_of, target_loss, translate_under

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class ModelSource:
    """The model of an experiment, and how it searches for translations.

    Attributes:
        entry: registry entry of the model.
        card_path, tokenizer_path: its card and tokenizer.json.
        search: beams and length_penalty of translations.
    """

    entry: Mapping[str, Any]
    card_path: str | Path
    tokenizer_path: str | Path
    search: Mapping[str, Any]


@dataclass(frozen=True)
class ExampleFiles:
    """Examples of a corpus.

    Attributes:
        paths: files of examples, in the order of the corpus.
        limit: use the records below this number.
    """

    paths: Sequence[str | Path]
    limit: int

    def read(self) -> list[Example]:
        """The examples.

        Raises:
            AtlasError: a file cannot be used.
        """
        return list(read_examples(self.paths, self.limit))


@dataclass(frozen=True)
class Translation:
    """A translation model; loss: summed over the tokens of the reference, without smoothing."""

    model: PreTrainedModel
    pad: int
    target_tokenizer: Tokenizer
    beams: int
    length_penalty: float
    name: str = TRANSLATION

    @property
    def shape(self) -> Mapping[SiteKind, tuple[int, int]]:
        """See `Experiment`."""
        return attention_shape(self.model)

    def expected(self, examples: Sequence[Example]) -> list[str]:
        """See `Experiment`."""
        if not examples:
            raise AtlasError("there is nothing to translate: use a corpus with reader parallel, and a limit of one or more.")
        return references_of(examples)

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        """See `Experiment`."""
        options = (self.beams, self.length_penalty)
        return translate_under(self.model, examples, self.pad, self.target_tokenizer, plans, *options)

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        """See `Experiment`."""
        pieces = [encoding.ids for encoding in self.target_tokenizer.encode_batch(references_of(batch))]
        return target_loss(self.model, inputs, pieces)


@dataclass(frozen=True)
class Classification:
    """A model of a task of GLUE; loss: cross-entropy."""

    model: PreTrainedModel
    pad: int
    name: str = CLASSIFICATION

    @property
    def shape(self) -> Mapping[SiteKind, tuple[int, int]]:
        """See `Experiment`."""
        return attention_shape(self.model)

    def expected(self, examples: Sequence[Example]) -> list[str]:
        """See `Experiment`."""
        labels = labels_of(examples)
        classes_of(self.model, labels)
        return labels

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        """See `Experiment`."""
        names = classes_of(self.model, [])
        return [predicted(logits, names, False) for logits in logits_under(self.model, examples, plans, self.pad)]

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        """See `Experiment`."""
        labels = labels_of(batch)
        names = classes_of(self.model, labels)
        targets = torch.tensor([names.index(label) for label in labels], device=self.model.device)
        return torch.nn.functional.cross_entropy(self.model(**inputs).logits.float(), targets, reduction="sum")


def open_experiment(
    name: str, model_entry: Mapping[str, Any], card_path: str | Path, tokenizer_path: str | Path, search: Mapping[str, Any]
) -> Experiment:
    """Load a model for an experiment, in float32 (derivatives by head gates are small).

    Args:
        name: `TRANSLATION` or `CLASSIFICATION`.
        model_entry: registry entry of the model.
        card_path, tokenizer_path: its card and tokenizer.json.
        search: beams and length_penalty of translations.

    Raises:
        AtlasError: the model cannot be loaded, or has no head for this task.
    """
    pad = read_card(card_path).pad or 0
    entry = {**model_entry, "dtype": "float32"}
    if name == CLASSIFICATION:
        return Classification(load_trained(entry, "labels", pick_device()), pad)
    model = load_trained(entry, "translation", pick_device())
    shape = attention_shape(model)
    if ENCODER_SELF not in shape or len(shape) != len(KINDS):
        raise AtlasError(f"{type(model).__name__} has no encoder and decoder: name a translation model.")
    folder = locate(entry)
    target = marian_tokenizer(folder, TARGET) if is_marian(folder) else open_tokenizer(tokenizer_path)
    return Translation(model, pad, target, search["beams"], search["length_penalty"])
