"""Weights as Figures 1 and 5 show them: renormalised over the shown tokens, as tidy tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd


def renormalised(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Rows divided by their sums; a row of zeros stays 0."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def weights_frame(weights: npt.NDArray[np.floating], names: Sequence[str], unit: str) -> pd.DataFrame:
    """[n, n] weights as a frame: from_position, from_{unit}, to_position, to_{unit} (1-indexed), weight."""
    n = len(names)
    rows, columns = np.indices((n, n))
    return pd.DataFrame(
        {
            "from_position": rows.ravel() + 1,
            f"from_{unit}": [names[i] for i in rows.ravel().tolist()],
            "to_position": columns.ravel() + 1,
            f"to_{unit}": [names[i] for i in columns.ravel().tolist()],
            "weight": weights.ravel(),
        }
    )


def labelled(frame: pd.DataFrame, **labels: Any) -> pd.DataFrame:
    """The frame with a leading constant column for each label."""
    return pd.concat([pd.DataFrame({name: [value] * len(frame) for name, value in labels.items()}), frame], axis=1)
