"""Checks that a training did not diverge: its losses and its weights are finite."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    import torch

_NAMED = 3


def check_loss(loss: torch.Tensor, when: str, remedy: str) -> None:
    """Check that the losses of a training, of any shape, are finite.

    Args:
        loss: the losses.
        when: step or epoch.
        remedy: what to change, with the setting's value.

    Raises:
        AtlasError: a loss is not finite.
    """
    if not loss.isfinite().all():
        raise AtlasError(f"the training diverged: at {when} the loss is not finite. {remedy}.")


def check_weights(model: torch.nn.Module, where: str, remedy: str) -> None:
    """Check that all weights of a model are finite.

    Raises:
        AtlasError: a weight is not; the message starts with `where` and ends with `remedy`.
    """
    weights = dict(model.named_parameters())
    infinite = [name for name, values in weights.items() if not values.isfinite().all()]
    if infinite:
        raise AtlasError(
            f"{where}: {len(infinite)} of {len(weights)} weights are not finite ({first_names(infinite)}). {remedy}."
        )


def first_names(names: Iterable[str]) -> str:
    """The first names in alphabetical order, for a message."""
    listed = sorted(names)
    return ", ".join(listed[:_NAMED]) + (", ..." if len(listed) > _NAMED else "")
