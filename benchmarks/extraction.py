"""Extraction with caching against the plain forward pass, Hugging Face's maps, and padding to 128."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from transformers import BertModel

from attention_atlas.attention.engine import install
from attention_atlas.corpora.examples import Example
from attention_atlas.io.shards import write_shard
from attention_atlas.models.extraction import attention_maps, batch_by_length
from benchmarks.shapes import LENGTH, bert_base, examples_of, treebank_lengths
from benchmarks.timing import report, side_by_side

ROUNDS = 9


def run() -> None:
    """Print both comparisons."""
    # One model for all candidates: where its weights happen to lie in memory changes its speed by more than is measured here.
    model = bert_base("sdpa")
    examples = examples_of([LENGTH] * 16)
    ids = torch.tensor([e.input_ids for e in examples])
    mask = torch.ones_like(ids)

    def forward() -> None:
        model.set_attn_implementation("sdpa")
        with torch.inference_mode():
            model(ids, attention_mask=mask)

    def output_attentions() -> None:
        model.set_attn_implementation("eager")
        with torch.inference_mode():
            maps = model(ids, attention_mask=mask, output_attentions=True).attentions
            [layer.half() for layer in maps]

    def extracted(chosen: list[Example]) -> dict[int, object]:
        install(model)
        return attention_maps(model, chosen, pad=0)

    with tempfile.TemporaryDirectory() as folder:

        def cached() -> None:
            maps = extracted(examples)
            facts = {"level": "tokens", "examples": [_facts(e) for e in examples]}
            write_shard(Path(folder, "0.safetensors"), Path(folder, "0.json"), maps, facts)

        print("bert-base shape, 16 x 128 tokens, 2 threads")
        candidates = {
            "plain SDPA forward": forward,
            "extraction, maps in memory": lambda: extracted(examples),
            "extraction, shard written, flushed and checksummed": cached,
            "output_attentions=True and float16 copy": output_attentions,
        }
        report(side_by_side(candidates, ROUNDS), "plain SDPA forward")

    sentences = examples_of(treebank_lengths(64))
    print(f"{len(sentences)} treebank sentences, mean {sum(len(e.input_ids) for e in sentences) / len(sentences):.1f} tokens")
    candidates = {
        "buckets by length": lambda: extracted(sentences),
        "every sentence padded to 128 (the authors' way)": lambda: _padded(model, sentences),
    }
    report(side_by_side(candidates, 2), "buckets by length")
    print(f"batches: {len(list(batch_by_length(sentences)))}")


def _padded(model: BertModel, examples: list[Example]) -> None:
    """All maps with every sentence padded to 128, 16 sentences a batch, cropped and rounded afterwards."""
    model.set_attn_implementation("eager")
    for start in range(0, len(examples), 16):
        batch = examples[start : start + 16]
        ids = torch.zeros(len(batch), LENGTH, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, example in enumerate(batch):
            ids[row, : len(example.input_ids)] = torch.tensor(example.input_ids)
            mask[row, : len(example.input_ids)] = 1
        with torch.inference_mode():
            maps = torch.stack(model(ids, attention_mask=mask, output_attentions=True).attentions, dim=1)
        for row, example in enumerate(batch):
            n = len(example.input_ids)
            maps[row, :, :, :n, :n].half()


def _facts(example: Example) -> dict[str, object]:
    return {name: getattr(example, name) for name in ("record", "id", "tokens", "word", "words")}
