"""Bins of histograms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BINS = 25
"""Bins over the range of the values."""


def centred_edges(values: npt.NDArray[np.float64], bins: int = BINS) -> npt.NDArray[np.float64]:
    """Edges of about `bins` equal bins over the range of `values` and 0, one of them centred on 0: no change."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    width = max(high - low, 0.1) / bins
    first, last = int(np.floor(low / width + 0.5)), int(np.floor(high / width + 0.5))
    return np.asarray(width * (np.arange(first, last + 2) - 0.5), dtype=np.float64)
