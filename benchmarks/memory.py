"""Peak memory of extraction: what comes on top of the plain forward pass, against one batch's maps and one layer's."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

SHARD, BATCH_ROWS = 128, 16


def run() -> None:
    """Measure each way in a separate process, since a peak never falls."""
    peaks = {way: _peak(way) for way in ("forward", "extraction", "output_attentions")}
    from benchmarks.shapes import LENGTH

    one = 12 * LENGTH * LENGTH
    maps = BATCH_ROWS * 12 * one * 2 / 2**20
    layer = BATCH_ROWS * one * 4 / 2**20
    print(
        f"bert-base shape, a shard of {SHARD} x 128 tokens ({SHARD // BATCH_ROWS * maps:.0f} MiB): the maps of a batch are "
        f"{maps:.0f} MiB, those of one of its layers in float32 {layer:.0f} MiB"
    )
    for way in ("extraction", "output_attentions"):
        extra = peaks[way] - peaks["forward"]
        print(f"{way:<20} peak {peaks[way]:6.0f} MiB, {extra:6.0f} over the plain forward: {extra / (maps + layer):5.2f} x")


def _peak(way: str) -> float:
    library = Path(__file__).resolve().parents[1] / "workflow" / "lib"
    code = f"import sys; sys.path.insert(0, {str(library)!r}); from benchmarks.memory import child; child({way!r})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=library.parents[1])
    return float(done.stdout.split()[-1])


def child(way: str) -> None:
    """Run one way and print the peak of resident memory in MiB."""
    import torch

    from benchmarks.extraction import write_extracted
    from benchmarks.shapes import LENGTH, bert_base, examples_of

    model = bert_base("eager" if way == "output_attentions" else "sdpa")
    examples = examples_of([LENGTH] * SHARD)
    if way == "extraction":
        with tempfile.TemporaryDirectory() as folder:
            write_extracted(model, examples, folder)
    else:
        stored = []
        for start in range(0, SHARD, BATCH_ROWS):
            ids = torch.tensor([e.input_ids for e in examples[start : start + BATCH_ROWS]])
            with torch.inference_mode():
                output = model(ids, output_attentions=way == "output_attentions")
            if way == "output_attentions":
                stored.append([layer.half() for layer in output.attentions])
    print(_process_peak())


def _process_peak() -> float:
    """Peak resident memory of this program in MiB; `getrusage` would count what its parent had before the start."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
