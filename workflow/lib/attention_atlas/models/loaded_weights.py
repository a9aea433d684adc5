"""Checks of weights: those of a checkpoint were all loaded, and those of a training are finite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


_NAMED = 3


def check_loss(loss: torch.Tensor, when: str, remedy: str) -> None:
    """Check that the losses of a training, of any shape, are finite."""
    if not loss.isfinite().all():
        raise AtlasError(f"the training diverged: at {when} the loss is not finite. {remedy}.")


def check_weights(model: torch.nn.Module, where: str, remedy: str) -> None:
    """Check that all weights of a model are finite."""
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


INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")  # files that list weights stored in several files
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def new_parts(model: PreTrainedModel, loading_info: Mapping[str, Any], folder: Path) -> list[str]:
    """Names of the weights that were not in the checkpoint and are random: those of a new head or pooler."""
    shapes = {
        name: f"{name} {list(stored)} instead of {list(built)}" for name, stored, built in loading_info["mismatched_keys"]
    }
    if shapes:
        raise AtlasError(
            f"{folder}: {len(shapes)} weights of the checkpoint have another shape than config.json says "
            f"({first_names(shapes.values())}). Correct config.json, or name a checkpoint with a head of this size or none."
        )
    missing = {name for name in loading_info["missing_keys"] if not _is_computed(model, name)}
    base = f"{model.base_model_prefix}."
    has_head = model.base_model is not model
    new = {name for name in missing if "pooler" in name.split(".") or (has_head and not name.startswith(base))}
    lacking, names = missing - new, model.state_dict().keys()
    unexpected = [name.removeprefix(base) for name in loading_info["unexpected_keys"]]
    if lacking:
        raise AtlasError(
            f"{folder}: {len(lacking)} of the model's {len(names)} weights are not in the checkpoint ({first_names(lacking)}): "
            f"it is incomplete, or has other names ({first_names(unexpected) or 'none'}). Correct model_type or the number of "
            "layers in config.json, rename the weights, or fetch the checkpoint with its index again."
        )
    numberless = {_NUMBER.sub("#", name.removeprefix(base)) for name in names}
    further = [name for name in unexpected if _NUMBER.sub("#", name) in numberless]
    if further:
        raise AtlasError(
            f"{folder}: the checkpoint has {len(further)} weights of layers that config.json does not have "
            f"({first_names(further)}). Correct the number of layers there."
        )
    check_weights(model, str(folder), "The checkpoint is damaged, or its training diverged: name another one")
    return sorted(new)


def _is_computed(model: PreTrainedModel, name: str) -> bool:
    """Whether a weight is a table of sinusoids, which checkpoints need not contain."""
    return "Sinusoidal" in type(model.get_submodule(name.rpartition(".")[0])).__name__
