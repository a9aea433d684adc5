"""Precision of the matrix products of models on a GPU."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

FLOAT32, TF32 = "float32", "tf32"
_OF_TORCH = {FLOAT32: "ieee", TF32: "tf32"}
"""Precision -> its name in `torch.backends.cuda.matmul.fp32_precision`."""
_log = logging.getLogger(__name__)


def set_gpu_precision(entry: Mapping[str, Any]) -> None:
    """Set the precision of float32 matrix products on a GPU for the rest of the job; products on a CPU stay as they are.

    It is also set to float32, because some containers set tf32 for every program (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE).

    Args:
        entry: registry entry of the model that is loaded; `gpu_precision` is float32 where it is missing.
    """
    import torch

    precision = entry.get("gpu_precision", FLOAT32)
    # torch.set_float32_matmul_precision would change products on a CPU as well.
    torch.backends.cuda.matmul.fp32_precision = _OF_TORCH[precision]
    if precision != FLOAT32:
        _log.info("matrix products on a GPU: %s", precision)
