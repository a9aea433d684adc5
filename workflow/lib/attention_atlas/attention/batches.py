"""Batches of examples of similar length, their sizes (see `workflow.resources`), and the input tensors of a model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from attention_atlas.corpora.examples import Example

EXTRACTION_TOKENS = 2048  # padded tokens of a batch of forward passes
GRADIENT_TOKENS = 1024  # padded tokens of a batch of backward passes
LOSS_TOKENS = 1024  # padded tokens of a batch with losses; a model with a head computes vocabulary scores for every token
SEARCH_TOKENS = 1024
"""Padded tokens of the sentences in a batch of a search: few, because the longest translation of a batch, which under a mask
may repeat itself to the end, keeps all others waiting."""
PROBE_CHUNK = 512  # sentences in memory while probes are trained


def batch_by_length(examples: Sequence[Example], batch_tokens: int = EXTRACTION_TOKENS) -> Iterator[list[Example]]:
    """Batch examples of similar length, longest first: at most `batch_tokens` padded tokens, but at least one example."""
    batch: list[Example] = []
    for example in sorted(examples, key=lambda e: (-len(e.input_ids), e.record)):
        if batch and (len(batch) + 1) * len(batch[0].input_ids) > batch_tokens:
            yield batch
            batch = []
        batch.append(example)
    if batch:
        yield batch


def model_inputs(
    model: PreTrainedModel, batch: Sequence[Example], pad: int, length: int | None = None
) -> dict[str, torch.Tensor]:
    """Arguments of the model's forward pass for examples padded to the longest, or to a length: input_ids, attention_mask.

    Each is [batch, n]. Segment ids are added if the model has segment embeddings. Models like GPT-2 accept such ids too, but
    would add the embedding of the token with that id.
    """
    import torch

    longest = length or max(len(e.input_ids) for e in batch)
    ids = torch.full((len(batch), longest), pad, dtype=torch.long)
    segments = torch.zeros_like(ids)
    mask = torch.zeros_like(ids)
    for row, example in enumerate(batch):
        n = len(example.input_ids)
        ids[row, :n] = torch.tensor(example.input_ids)
        segments[row, :n] = torch.tensor(example.segment_ids)
        mask[row, :n] = 1
    inputs = {"input_ids": ids, "attention_mask": mask}
    has_segments = getattr(model.config, "type_vocab_size", 0) > 1
    if has_segments and "token_type_ids" in inspect.signature(model.forward).parameters:
        inputs["token_type_ids"] = segments
    return {name: tensor.to(model.device) for name, tensor in inputs.items()}
