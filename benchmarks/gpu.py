"""Extraction, divergence and ablation on a GPU, against the floors that its arithmetic, memory and bus set.

python -m benchmarks.gpu           on the GPU of this machine
python -m benchmarks.gpu --device cpu   the same code without one (slow; shows that it runs)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

from attention_atlas.attention.divergence import _table, head_divergence  # noqa: E402
from attention_atlas.attention.engine import install, watch  # noqa: E402
from attention_atlas.attention.plans import Plan  # noqa: E402
from attention_atlas.models.extraction import attention_maps  # noqa: E402
from benchmarks.divergence import random_maps  # noqa: E402
from benchmarks.shapes import LENGTH, bert_base, examples_of  # noqa: E402
from benchmarks.timing import side_by_side  # noqa: E402

BATCH, LAYERS, HEADS = 64, 12, 12
SMOOTHING = 0.001


def seconds(action: Callable[[], object], device: str, rounds: int = 5) -> float:
    """Median seconds of an action until the device is idle."""

    def whole() -> None:
        action()
        if device == "cuda":
            torch.cuda.synchronize()

    return side_by_side({"": whole}, rounds)[""]


def run(device: str, batch: int) -> None:
    """Print times, floors and their ratios, and how far the results are from those of the CPU."""
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    size = 2**28 if device == "cuda" else 2**24
    block = torch.zeros(size, device=device)
    bandwidth = 2 * 4 * size / seconds(block.clone, device)
    host = torch.empty(size, pin_memory=device == "cuda")
    bus = 4 * size / seconds(lambda: host.copy_(block, non_blocking=True), device)
    print(f"{name}: memory {bandwidth / 1e9:.0f} GB/s, device to host (pinned) {bus / 1e9:.1f} GB/s")

    model = bert_base("sdpa").to(device)
    examples = examples_of([LENGTH] * batch)
    ids = torch.tensor([e.input_ids for e in examples], device=device)
    mask = torch.ones_like(ids)

    def forward() -> None:
        with torch.inference_mode():
            model(ids, attention_mask=mask)

    plain = seconds(forward, device)
    install(model)
    held: dict[int, np.ndarray] = {}
    extraction = seconds(lambda: held.update(attention_maps(model, examples, 0, batch_tokens=batch * LENGTH)), device)
    moved = 2 * batch * LAYERS * HEADS * LENGTH**2
    floor = plain + moved / bus
    print(f"extraction of {batch} x {LENGTH} tokens: {extraction:.3f} s; forward pass {plain:.3f} s + bus {moved / bus:.3f} s")
    print(f"    {extraction / floor:.2f} x that floor")
    some = attention_maps(model.to("cpu"), examples[:2], 0)
    print(f"    largest difference from the CPU: {max(np.abs(held[k].astype(float) - some[k]).max() for k in some):.1e}")
    model.to(device)

    maps = random_maps(LAYERS * HEADS, LENGTH)
    divergence = seconds(lambda: head_divergence(maps, SMOOTHING, device=device), device)
    # Features of every two heads are multiplied and added once, at the rate of a large product of matrices.
    square = torch.zeros(4096, 4096, device=device)
    rate = 2 * 4096**3 / seconds(lambda: square @ square, device)
    features = (LAYERS * HEADS) ** 2 * LENGTH**2 * _table(SMOOTHING, LENGTH).shape[1]
    floor = 2 * features / rate
    difference = np.abs(head_divergence(maps, SMOOTHING, device=device) - head_divergence(maps, SMOOTHING)).max() / LENGTH
    print(f"divergence of {LAYERS * HEADS} heads x {LENGTH} tokens: {divergence:.4f} s; arithmetic {floor:.4f} s")
    print(f"    {divergence / floor:.2f} x that floor; largest difference from the CPU {difference:.1e} nats per token")

    plan = Plan()
    for layer in range(1, LAYERS + 1):
        plan = plan.zero(layer, [1, 6])

    def through(chosen: Plan | None) -> None:
        with torch.inference_mode(), watch(model, plan=chosen) as session:
            session.batch(mask)
            model(ids, attention_mask=mask)

    identity, ablated = seconds(lambda: through(None), device), seconds(lambda: through(plan), device)
    print(f"ablation of two heads per layer: {ablated:.3f} s; {ablated / plain:.2f} x SDPA, {ablated / identity:.2f} x no plan")


def main() -> None:
    """Run on the chosen device."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--batch", type=int, default=BATCH)
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch sees no GPU here; --device cpu shows that the code runs.")
    run(arguments.device, arguments.batch)


if __name__ == "__main__":
    main()
