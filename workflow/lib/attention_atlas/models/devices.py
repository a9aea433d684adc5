"""The device that models run on."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from torch import Tensor

DEVICE_VARIABLE = "ATLAS_DEVICE"


def gpu_here() -> bool:
    """Whether this machine has a GPU, without importing torch: true if NVIDIA's tool is installed."""
    return shutil.which("nvidia-smi") is not None


def pick_device() -> str:
    """The device, cpu or cuda, according to the environment variable ATLAS_DEVICE (auto, the default: a GPU if there is one).

    The workflow sets it from `device` in the configuration. It is not a parameter of jobs, since results on GPU and CPU are
    equal up to rounding.
    """
    wanted = os.environ.get(DEVICE_VARIABLE, "auto")
    if wanted not in ("auto", "cpu", "cuda"):
        raise AtlasError(f"{DEVICE_VARIABLE}={wanted}: use auto, cpu or cuda.")
    if wanted == "cpu" or (wanted == "auto" and not gpu_here()):
        return "cpu"  # without importing torch
    import torch

    gpu_available = torch.cuda.is_available()
    if wanted == "cuda" and not gpu_available:
        raise AtlasError("device: cuda, but torch sees no GPU here. Set device: auto or cpu, or use a machine with one.")
    return "cuda" if gpu_available else "cpu"


def on_gpu(tensor: Tensor) -> bool:
    """Whether a tensor is on a GPU, for code with a separate GPU branch that is faster or sums in a fixed order.

    Always called as `devices.on_gpu`, so that tests can replace it, and compare both branches byte for byte.
    """
    return tensor.is_cuda
