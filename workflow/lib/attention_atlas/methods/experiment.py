"""A model and its task: heads are scored by the model's answers and loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from attention_atlas.attention.plans import Plan, SiteKind
from attention_atlas.corpora.examples import Example

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


class Experiment(Protocol):
    """A model and its task."""

    @property
    def name(self) -> str:
        """Name of the experiment."""
        ...

    @property
    def model(self) -> PreTrainedModel:
        """The model, in evaluation mode."""
        ...

    @property
    def pad(self) -> int:
        """Id of the padding token."""
        ...

    @property
    def shape(self) -> Mapping[SiteKind, tuple[int, int]]:
        """Number of layers and heads of each kind of attention."""
        ...

    def expected(self, examples: Sequence[Example]) -> list[str]:
        """References or labels of examples.

        Raises:
            AtlasError: an example has none, or there is no example.
        """
        ...

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        """Answers of the unchanged model, then of the model under each plan."""
        ...

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        """The loss summed over the examples of a batch (and over the tokens of their translations)."""
        ...
