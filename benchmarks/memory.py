"""Peak memory of extraction and of a plain loop: what comes on top of the forward pass, against the maps of a batch."""

from __future__ import annotations

import tempfile

import torch

from benchmarks.extraction import write_extracted
from benchmarks.shapes import LENGTH, bert_base, examples_of
from benchmarks.timing import in_process

SHARD, ROWS = 128, 16


def run() -> None:
    """Print the peak of each way over that of the forward pass, as a multiple of the maps of a batch and of one layer."""
    peaks = {way: in_process("memory", f"child({way!r})")[-1] for way in ("forward", "extraction", "output_attentions")}
    one = 12 * LENGTH * LENGTH
    maps, layer = ROWS * 12 * one * 2 / 2**20, ROWS * one * 4 / 2**20
    print(
        f"bert-base shape, a shard of {SHARD} x {LENGTH} tokens ({SHARD // ROWS * maps:.0f} MiB): the maps of a batch are "
        f"{maps:.0f} MiB, those of one of its layers in float32 {layer:.0f} MiB"
    )
    for way in ("extraction", "output_attentions"):
        extra = peaks[way] - peaks["forward"]
        print(f"{way:<20} peak {peaks[way]:6.0f} MiB, {extra:6.0f} over the plain forward: {extra / (maps + layer):5.2f} x")


def child(way: str) -> None:
    """Run one way."""
    model = bert_base("eager" if way == "output_attentions" else "sdpa")
    examples = examples_of([LENGTH] * SHARD)
    if way == "extraction":
        with tempfile.TemporaryDirectory() as folder:
            write_extracted(model, examples, folder)
        return
    stored = []
    for start in range(0, SHARD, ROWS):
        ids = torch.tensor([e.input_ids for e in examples[start : start + ROWS]])
        with torch.inference_mode():
            output = model(ids, output_attentions=way == "output_attentions")
        if way == "output_attentions":
            stored.append([layer.half() for layer in output.attentions])
