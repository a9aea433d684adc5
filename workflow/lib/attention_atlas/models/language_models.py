"""Models that predict masked or next tokens, for the loss of a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import nn

from attention_atlas.attention.engine import DECODER_SELF, install, self_attention
from attention_atlas.errors import AtlasError
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import in_evaluation, initialised
from attention_atlas.models.mlm_head import HeadFacts, load_masked_model

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class LanguageModel(Protocol):
    """A model with losses of single tokens; `model` is the observed module, with the attention engine installed."""

    @property
    def model(self) -> PreTrainedModel: ...

    def target_losses(self, inputs: Mapping[str, torch.Tensor], targets: torch.Tensor) -> torch.Tensor:
        """[target] cross-entropy in nats of the prediction at each position with a target.

        Args:
            inputs: arguments of the forward pass.
            targets: [batch, n] id of the token to predict at a position, -100 where there is no loss.
        """


@dataclass(frozen=True)
class CausalModel:
    """A decoder with its language-model head, which predicts the next token at each position."""

    model: PreTrainedModel

    def target_losses(self, inputs: Mapping[str, torch.Tensor], targets: torch.Tensor) -> torch.Tensor:
        """See `LanguageModel`."""
        has_target = targets != -100
        logits = self.model(**inputs).logits[has_target]
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return nn.functional.cross_entropy(wide, targets[has_target], reduction="none")


def load_language_model(entry: Mapping[str, Any], mlm_head: str | Path, facts: HeadFacts) -> tuple[LanguageModel | None, str]:
    """A model with its masked-LM head (from the checkpoint, or trained by the workflow) or causal head, and the kind of head.

    None, and the reason, for a model without either head.

    Args:
        entry: registry entry of the model.
        mlm_head: weights of the head trained by the workflow.
        facts: description of the masked-LM head.

    Raises:
        AtlasError: the files cannot be read.
    """
    device = pick_device()
    if facts.origin != "none":
        names = {"checkpoint": "masked-LM head of the checkpoint", "trained": f"masked-LM {facts.words}"}
        return load_masked_model(entry, mlm_head, facts, device), names[facts.origin]
    model = _causal(entry)
    if model is None:
        return None, "the model predicts neither masked tokens (it has no [MASK]) nor the next one (no causal head)"
    return CausalModel(in_evaluation(model, device).requires_grad_(False)), "language-model head of the checkpoint"


def _causal(entry: Mapping[str, Any]) -> PreTrainedModel | None:
    """A decoder with the head of its checkpoint and the engine installed; None if there is no such head."""
    from transformers import AutoModelForCausalLM

    if entry["init"] != "pretrained":
        return None
    try:
        model, missing = initialised(AutoModelForCausalLM, entry)
    except AtlasError:  # the architecture has no such class; unreadable files are reported when the bare model is loaded
        return None
    if missing or model.config.is_encoder_decoder or self_attention(model)[0] != DECODER_SELF:
        return None
    install(model)
    return model
