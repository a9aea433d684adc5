"""A training step with the project's dropout against torch's own: other draws, the same distribution."""

from __future__ import annotations

import torch
from transformers import BertConfig, BertForTokenClassification

from attention_atlas.models.dropout import FastDropout
from benchmarks.timing import report, side_by_side

BATCHES = ((8, 256), (16, 160), (32, 50), (32, 28))
"""Texts of a batch, and tokens of each, as in fine-tuning on keyphrases, SQuAD, QNLI and STS-B."""


def run() -> None:
    """Print the ratio for each shape of batch."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    size = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    model = BertForTokenClassification(BertConfig(num_labels=3, **size)).train()
    for texts, tokens in BATCHES:
        ids = torch.randint(1000, 30000, (texts, tokens))
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids % 3}

        def step(inputs: dict[str, torch.Tensor] = inputs) -> None:
            model.zero_grad()
            model(**inputs).loss.backward()

        def fast(inputs: dict[str, torch.Tensor] = inputs) -> None:
            with FastDropout():
                step(inputs)

        reference = "torch's dropout"
        medians = side_by_side({reference: step, "the project's": fast}, 3)
        print(f"{texts} texts of {tokens} tokens, one thread")
        report(medians, reference)
