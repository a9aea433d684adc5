"""Precision of the matrix products of models on a GPU."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from attention_atlas.models.devices import pick_device

FLOAT32, TF32 = "float32", "tf32"
_OF_TORCH = {FLOAT32: "highest", TF32: "high"}
"""Precision -> its name in `torch.set_float32_matmul_precision`."""
_log = logging.getLogger(__name__)


def set_gpu_precision(entry: Mapping[str, Any]) -> None:
    """Set the precision of float32 matrix products on a GPU for the rest of the job; without a GPU nothing changes.

    It is also set to float32, because some containers set tf32 for every program (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE).

    Args:
        entry: registry entry of the model that is loaded; `gpu_precision` is float32 where it is missing.
    """
    if pick_device() == "cpu":
        return
    import torch

    precision = entry.get("gpu_precision", FLOAT32)
    torch.set_float32_matmul_precision(_OF_TORCH[precision])
    if precision != FLOAT32:
        _log.info("matrix products on the GPU in %s", precision)
