"""Which device models run on."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from torch import Tensor

DEVICE_VARIABLE = "ATLAS_DEVICE"


def gpu_here() -> bool:
    """Whether this machine has a GPU, without importing torch: whether NVIDIA's tool is installed."""
    return shutil.which("nvidia-smi") is not None


def pick_device() -> str:
    """ "cpu" or "cuda", as the environment variable ATLAS_DEVICE says (auto, the default: a GPU where there is one).

    The workflow sets it from `device` in the configuration; it is no parameter of a job, since results on a GPU are those on a
    CPU within rounding.

    Raises:
        AtlasError: the variable requires a GPU and there is none, or its value is unknown.
    """
    wanted = os.environ.get(DEVICE_VARIABLE, "auto")
    if wanted not in ("auto", "cpu", "cuda"):
        raise AtlasError(f"{DEVICE_VARIABLE}={wanted}: say auto, cpu or cuda.")
    if wanted == "cpu" or (wanted == "auto" and not gpu_here()):
        return "cpu"  # without importing torch
    import torch

    gpu_available = torch.cuda.is_available()
    if wanted == "cuda" and not gpu_available:
        raise AtlasError("device: cuda, but torch sees no GPU here. Set device: auto or cpu, or use a machine with one.")
    return "cuda" if gpu_available else "cpu"


def on_gpu(tensor: Tensor) -> bool:
    """Whether a tensor is on a GPU: for code that goes another way there, because it is faster or sums in a fixed order.

    It is asked as `devices.on_gpu`, so that tests can have the way of a CPU on a GPU that is pretended, and compare the bytes.
    """
    return tensor.is_cuda
