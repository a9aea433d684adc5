"""Language models: masking, masked-LM heads of the checkpoint or trained here on a frozen encoder, and losses by token."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import install, self_attention
from attention_atlas.attention.plans import DECODER_SELF
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import whole_file, write_text
from attention_atlas.io.messages import progress
from attention_atlas.models.card import TRAINED_HERE, ModelCard, read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import check_loss, initialised, load_model

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CHOSEN, TO_MASK, TO_RANDOM = 0.15, 0.8, 0.1
"""Share of the tokens that have a loss, and shares of these that become [MASK] and a random token."""


class MaskedExample(NamedTuple):
    input_ids: npt.NDArray[np.int64]  # [n] input of the model
    targets: npt.NDArray[np.int64]  # [n] the true token where the loss counts
    chosen: npt.NDArray[np.bool_]  # [n] where the loss counts


def mask_pieces(example: Example, mask: int, vocabulary: int, seed: int) -> MaskedExample:
    """Choose 15 % of the tokens (at least one, no special token); 80 % of them become [MASK], 10 % a random token, 10 % stay
    (Devlin et al. 2019, section 3.1). The choice depends only on seed and record, not on the batch or the shard.
    """
    ids = np.asarray(example.input_ids, dtype=np.int64)
    candidates = np.flatnonzero(np.asarray(example.word) != SPECIAL)
    generator = np.random.default_rng([seed, example.record])
    picked = generator.choice(candidates, max(1, round(CHOSEN * len(candidates))), replace=False)
    fate = generator.random(len(picked))
    fed = ids.copy()
    fed[picked[fate < TO_MASK]] = mask
    random = picked[(fate >= TO_MASK) & (fate < TO_MASK + TO_RANDOM)]
    fed[random] = generator.integers(0, vocabulary, len(random))
    chosen = np.zeros(len(ids), dtype=bool)
    chosen[picked] = True
    return MaskedExample(fed, ids, chosen)


def unmasked(example: Example) -> MaskedExample:
    """The unmasked example, with a loss on every token that is not special."""
    ids = np.asarray(example.input_ids, dtype=np.int64)
    return MaskedExample(ids, ids, np.asarray(example.word) != SPECIAL)


_log = logging.getLogger(__name__)
_HELD_OUT = 10  # every tenth record is held out from training, to evaluate the head


@dataclass(frozen=True)
class HeadFacts:
    origin: str  # "checkpoint", "trained" or "none" (a model without a mask token)
    # texts, positions, steps: examples and masked tokens it was trained on, and optimiser steps; 0 for a checkpoint's head
    texts: int = 0
    positions: int = 0
    steps: int = 0
    # heldout_loss, heldout_accuracy: mean loss (nats) and accuracy on masked tokens of held-out texts
    heldout_loss: float | None = None
    heldout_accuracy: float | None = None
    unigram_loss: float | None = None  # loss of predicting the frequencies of the training tokens, on the same tokens

    @property
    def words(self) -> str:
        """Description of the head in tables and figures."""
        if self.origin == "checkpoint":
            return "head of the checkpoint"
        if self.origin == "none":
            return "the model has no [MASK]"
        return (
            f"head {TRAINED_HERE} on {self.texts} texts with the encoder frozen (held-out loss {self.heldout_loss:.2f}, "
            f"unigram {self.unigram_loss:.2f} nats)"
        )


class TiedHead(nn.Module):
    """BERT's masked-LM head: dense, GELU and layer norm, then the (frozen) input embeddings and one bias per token."""

    def __init__(self, hidden: int, embeddings: torch.Tensor) -> None:
        super().__init__()
        width = embeddings.shape[1]
        self.dense = nn.Linear(hidden, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(embeddings.shape[0]))
        self.register_buffer("embeddings", embeddings.detach(), persistent=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [..., token] of hidden states [..., width]."""
        return self.norm(nn.functional.gelu(self.dense(hidden))) @ self.embeddings.T + self.bias


@dataclass(frozen=True)
class LanguageModel:
    """A model that predicts masked tokens, or the next token at each position; the attention engine is installed."""

    model: PreTrainedModel  # the observed module: the encoder, or the whole language model of the checkpoint
    head: TiedHead | None  # for an encoder, the head trained by the workflow
    facts: HeadFacts

    def loss(self, output: Any, targets: torch.Tensor, reduction: str = "sum") -> torch.Tensor:
        """Cross-entropy in nats of an output of `model`: sum over tokens with a target, or (reduction "none") each, by row."""
        has_target = targets != -100
        # The vocabulary is large: compute a trained head's logits only at target positions.
        logits = output.logits[has_target] if self.head is None else self.head(output[0][has_target])
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return nn.functional.cross_entropy(logits, targets[has_target], reduction=reduction)

    @property
    def vocabulary(self) -> int:
        return len(self.model.get_input_embeddings().weight)


def prepare_head(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    settings: Mapping[str, Any],
    threads: int,
    out: str | Path,
    facts_out: str | Path,
) -> None:
    """Use the checkpoint's masked-LM head, or train one on the text of the run, and write it with its facts."""
    torch.set_num_threads(threads)
    card = read_card(card_path)
    weights: dict[str, torch.Tensor] = {}
    if card.mask is None:
        facts = HeadFacts("none")
    elif _checkpoint_model(model_entry) is not None:
        facts = HeadFacts("checkpoint")
    else:
        weights, facts = _train(model_entry, card, list(read_examples(example_files, limit)), settings)
    _log.info("masked-LM head: %s", facts.words)
    with whole_file(out) as part:
        save_file(weights or {"none": torch.zeros(1)}, part)
    write_text(facts_out, json.dumps(asdict(facts), indent=2) + "\n")


def read_head_facts(path: str | Path) -> HeadFacts:
    try:
        return HeadFacts(**json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DamagedFile(path, f"not a readable description of a head ({error})") from error


def load_masked_model(
    model_entry: Mapping[str, Any], head_path: str | Path, facts: HeadFacts, device: str = "cpu"
) -> LanguageModel:
    """Load a model with its head, with the attention engine installed, in evaluation mode and without gradients of weights."""
    if facts.origin == "checkpoint":
        model = _checkpoint_model(model_entry)
        if model is None:
            raise AtlasError(f"{head_path}: the checkpoint no longer has a head; delete this file and run again.")
        return LanguageModel(model.to(device).eval().requires_grad_(False), None, facts)
    encoder = load_model(model_entry, device).requires_grad_(False)
    head = _new_head(encoder)
    try:
        head.load_state_dict(load_file(head_path))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise DamagedFile(head_path, f"not the head of this model ({type(error).__name__})") from error
    return LanguageModel(encoder, head.to(device).eval().requires_grad_(False), facts)


class HeadFile(NamedTuple):
    path: str
    facts: HeadFacts

    def load(self, entry: Mapping[str, Any], device: str = "cpu") -> LanguageModel:
        return load_masked_model(entry, self.path, self.facts, device)


def read_mlm_head(path: str) -> HeadFile:
    """A head from its weights, whose facts lie beside them."""
    return HeadFile(path, read_head_facts(Path(path).with_suffix(".json")))


MlmHead = Annotated[HeadFile, read_mlm_head]  # A masked-LM head, as a parameter of a function that a job calls


def _checkpoint_model(entry: Mapping[str, Any], causal: bool = False) -> PreTrainedModel | None:
    """The masked or causal language model of a checkpoint, with the engine installed; None if its files have no such head.

    transformers initialises missing weights at random; tied weights do not count as missing. An encoder-decoder predicts
    masked tokens from its decoder's states, and does not count.
    """
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    if entry["init"] != "pretrained":
        return None
    try:
        model, missing = initialised(AutoModelForCausalLM if causal else AutoModelForMaskedLM, entry)
    except AtlasError:  # the architecture has no such class; unreadable files are reported when the bare model is loaded
        return None
    if missing or model.config.is_encoder_decoder or (causal and self_attention(model)[0] != DECODER_SELF):
        return None
    install(model)
    return model


def _new_head(encoder: PreTrainedModel) -> TiedHead:
    return TiedHead(encoder.config.hidden_size, encoder.get_input_embeddings().weight).to(encoder.device)


def _train(
    entry: Mapping[str, Any], card: ModelCard, examples: Sequence[Example], settings: Mapping[str, Any]
) -> tuple[dict[str, torch.Tensor], HeadFacts]:
    heldout_examples = [e for e in examples if e.record % _HELD_OUT == _HELD_OUT - 1]
    training_examples = [e for e in examples if e.record % _HELD_OUT != _HELD_OUT - 1]
    if not heldout_examples or not training_examples:
        raise AtlasError(
            f"{len(examples)} texts are too few to train a masked-LM head on: {_HELD_OUT} are needed; raise the limit of "
            "the segments corpus."
        )
    torch.manual_seed(settings["seed"])
    encoder = load_model(entry, pick_device()).requires_grad_(False)
    head = _new_head(encoder)
    assert card.mask is not None
    states, targets = _masked_states(encoder, training_examples, card, settings["copies"], settings["seed"])
    heldout_states, heldout_targets = _masked_states(encoder, heldout_examples, card, 1, settings["seed"])
    counts = torch.bincount(targets, minlength=head.bias.shape[0]).float() + 0.1
    unigram = (counts / counts.sum()).log()
    with torch.no_grad():
        # With token frequencies as initial bias, only the dependence on context has to be learnt.
        head.bias.copy_(unigram)
    # `epochs` passes over the masked tokens, `steps` at most.
    steps = min(settings["steps"], math.ceil(settings["epochs"] * len(targets) / settings["batch"]))
    optimiser = torch.optim.AdamW(head.parameters(), lr=settings["learning_rate"])
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.01, steps)
    generator = torch.Generator().manual_seed(settings["seed"])
    head.train()
    remedy = f"Lower learning_rate of mlm_head ({settings['learning_rate']:g})"
    for step in progress(range(1, steps + 1), label="training a masked-LM head"):
        chosen = torch.randint(len(targets), (settings["batch"],), generator=generator).to(states.device)
        loss = nn.functional.cross_entropy(head(states[chosen]), targets[chosen])
        check_loss(loss, f"step {step}", remedy)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        logits = torch.cat([head(part) for part in heldout_states.split(1024)])
        heldout_loss = nn.functional.cross_entropy(logits, heldout_targets)
        check_loss(heldout_loss, "the end", remedy)
        facts = HeadFacts(
            origin="trained",
            texts=len(training_examples),
            positions=len(targets),
            steps=steps,
            heldout_loss=float(heldout_loss),
            heldout_accuracy=float((logits.argmax(-1) == heldout_targets).float().mean()),
            unigram_loss=float(-unigram[heldout_targets].mean()),
        )
    return {name: tensor.detach().cpu().contiguous() for name, tensor in head.state_dict().items()}, facts


def _masked_states(
    encoder: PreTrainedModel, examples: Sequence[Example], card: ModelCard, copies: int, seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Last hidden states [token, width] and true ids [token] of masked tokens of all examples, with `copies` maskings each."""
    assert card.mask is not None
    vocabulary = len(encoder.get_input_embeddings().weight)
    states, targets = [], []
    for copy in range(copies):
        for batch in progress(list(batch_by_length(examples)), label=f"masked texts, copy {copy + 1} of {copies}"):
            # Different maskings from the one used for gradients.
            masked_examples = [mask_pieces(e, card.mask, vocabulary, seed + 1 + copy) for e in batch]
            inputs = model_inputs(encoder, batch, card.pad or 0)
            for row, masked in enumerate(masked_examples):
                inputs["input_ids"][row, : len(masked.input_ids)] = torch.from_numpy(masked.input_ids)
            with torch.inference_mode():
                output = encoder(**inputs)[0]
            for row, masked in enumerate(masked_examples):
                places = torch.from_numpy(masked.chosen.nonzero()[0])
                states.append(output[row, places.to(output.device)].clone())
                targets.append(torch.from_numpy(masked.targets)[places])
    return torch.cat(states).clone(), torch.cat(targets).to(encoder.device)


def load_language_model(entry: Mapping[str, Any], mlm_head: str | Path, facts: HeadFacts) -> tuple[LanguageModel | None, str]:
    """A model with its masked-LM head (of the checkpoint, or trained here) or causal head, and what head; or None, and why."""
    if facts.origin != "none":
        return load_masked_model(entry, mlm_head, facts, pick_device()), f"masked-LM {facts.words}"
    model = _checkpoint_model(entry, causal=True)
    if model is None:
        return None, "the model predicts neither masked tokens (it has no [MASK]) nor the next one (no causal head)"
    frozen = model.to(pick_device()).eval().requires_grad_(False)
    return LanguageModel(frozen, None, facts), "language-model head of the checkpoint"
