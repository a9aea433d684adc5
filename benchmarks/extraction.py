"""Extraction with caching against the plain forward pass and against the loop that a user would write."""

from __future__ import annotations

import tempfile
import unittest.mock
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from transformers import BertModel

from attention_atlas.attention.engine import install
from attention_atlas.corpora.examples import Example
from attention_atlas.io.shards import new_shard
from attention_atlas.models.extraction import attention_maps, each_example, map_shapes
from benchmarks.shapes import LENGTH, THREADS, bert_base, examples_of, treebank_lengths
from benchmarks.timing import report, side_by_side

# A shard of 128 examples: the block of memory that its batches share is touched for the first time once per shard.
BATCHES, ROWS, ROUNDS = 8, 16, 3


def run() -> None:
    """Print both comparisons."""
    # One model for all candidates: where its weights happen to lie in memory changes its speed by more than is measured here.
    model = bert_base("sdpa")
    examples = examples_of([LENGTH] * ROWS * BATCHES)
    batches = torch.tensor([e.input_ids for e in examples]).split(ROWS)
    mask = torch.ones_like(batches[0])

    def forward() -> None:
        model.set_attn_implementation("sdpa")
        with torch.inference_mode():
            for ids in batches:
                model(ids, attention_mask=mask)

    def output_attentions() -> None:
        model.set_attn_implementation("eager")
        with torch.inference_mode():
            for ids in batches:
                maps = model(ids, attention_mask=mask, output_attentions=True).attentions
                [layer.half() for layer in maps]

    with tempfile.TemporaryDirectory() as folder:

        def not_synced() -> None:
            with unittest.mock.patch("os.fsync"):
                write_extracted(model, examples, folder)

        print(f"bert-base shape, {BATCHES} batches of {ROWS} x {LENGTH} tokens through one block of memory, {THREADS} threads")
        candidates = {
            "plain SDPA forward": forward,
            "extraction, shard written, without fsync": not_synced,
            "the same with fsync": lambda: write_extracted(model, examples, folder),
            "extraction, all maps kept in memory": lambda: extracted(model, examples),
            "output_attentions=True and float16 copy": output_attentions,
        }
        report(side_by_side(candidates, ROUNDS), "plain SDPA forward")

    sentences = examples_of(treebank_lengths(64))
    print(f"{len(sentences)} treebank sentences, mean {sum(len(e.input_ids) for e in sentences) / len(sentences):.1f} tokens")
    candidates = {
        "extraction, all maps kept in memory": lambda: extracted(model, sentences),
        "plain loop in file order, padded to the longest of a batch": lambda: plain_loop(model, sentences),
        "plain loop, every sentence padded to 128 (the authors' way)": lambda: plain_loop(model, sentences, LENGTH),
    }
    report(side_by_side(candidates, 2), "extraction, all maps kept in memory")


def extracted(model: BertModel, examples: list[Example]) -> dict[int, npt.NDArray[np.float16]]:
    """All maps in memory, through the engine."""
    install(model)
    return attention_maps(model, examples, pad=0)


def write_extracted(model: BertModel, examples: list[Example], folder: str) -> None:
    """A shard of all maps, as the workflow writes it."""
    install(model)
    facts = {"level": "tokens", "examples": [_facts(e) for e in examples]}
    with new_shard(Path(folder, "0.safetensors"), Path(folder, "0.json"), map_shapes(model, examples), facts) as shard:
        for example, maps in each_example(model, examples, pad=0, reuse_memory=True):
            shard.write(example.record, maps)


def plain_loop(model: BertModel, examples: list[Example], length: int = 0) -> list[torch.Tensor]:
    """What a user would write: `output_attentions=True`, 16 sentences per batch, padded to the longest or to `length`."""
    model.set_attn_implementation("eager")
    kept = []
    for start in range(0, len(examples), ROWS):
        rows = [torch.tensor(example.input_ids) for example in examples[start : start + ROWS]]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        ids = torch.nn.functional.pad(ids, (0, max(length - ids.shape[1], 0)))
        mask = torch.arange(ids.shape[1]) < torch.tensor([[len(row)] for row in rows])
        with torch.inference_mode():
            maps = torch.stack(model(ids, attention_mask=mask.long(), output_attentions=True).attentions, dim=1)
        kept += [of_one[:, :, : len(row), : len(row)].half() for of_one, row in zip(maps, rows, strict=True)]
    return kept


def _facts(example: Example) -> dict[str, object]:
    return {name: getattr(example, name) for name in ("record", "id", "tokens", "word", "words")}
