"""How time and peak memory of extraction grow with the number of segments and of layers."""

from __future__ import annotations

import tempfile
import time

import numpy as np
import torch
from transformers import BertConfig, BertModel

from attention_atlas.attention.engine import install
from benchmarks.extraction import write_extracted
from benchmarks.shapes import LENGTH, THREADS, examples_of
from benchmarks.timing import in_process

SEGMENTS, LAYERS = (32, 64, 128, 256), (2, 4, 8, 16)


def run() -> None:
    """Print seconds and MiB at each size, and the exponents of growth: 1 is linear, 0 constant."""
    print(f"segments of {LENGTH} tokens, 12 heads, hidden size 384; memory over that of a run of 1 segment and 1 layer")
    base = in_process("growth", "child(1, 1)")[1]
    for name, sizes, pairs in (
        ("segments, 4 layers", SEGMENTS, [(segments, 4) for segments in SEGMENTS]),
        ("layers, 64 segments", LAYERS, [(64, layers) for layers in LAYERS]),
    ):
        seconds, peaks = np.transpose([in_process("growth", f"child({segments}, {layers})") for segments, layers in pairs])
        growth = [np.polyfit(np.log(sizes), np.log(values), 1)[0] for values in (seconds, peaks - base)]
        steps = ", ".join(f"{n}: {s:.2f} s {p - base:.0f} MiB" for n, s, p in zip(sizes, seconds, peaks, strict=True))
        print(f"{name:<20} {steps}; exponent of time {growth[0]:.2f}, of memory {growth[1]:.2f}")


def child(segments: int, layers: int) -> float:
    """Seconds of extracting and writing all maps, after a first time with one segment."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    size = {"hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536, "num_hidden_layers": layers}
    model = BertModel(BertConfig(**size), add_pooling_layer=False).eval()
    install(model)
    with tempfile.TemporaryDirectory() as folder:
        write_extracted(model, examples_of([LENGTH]), folder)
        examples, start = examples_of([LENGTH] * segments), time.perf_counter()
        write_extracted(model, examples, folder)
        return time.perf_counter() - start
