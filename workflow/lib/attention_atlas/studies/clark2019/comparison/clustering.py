"""Figure 6 beside the published one: the notebook gives the thresholds of its legend and no number besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_atlas.published.compare import NO, Measured


def clustering_rows(thresholds: Mapping[str, Any]) -> dict[str, Measured]:
    """The thresholds that name the behaviours of heads.

    Args:
        thresholds: the run's options of Figure 6: broad_entropy (nats), position and special (shares).
    """
    values = [float(thresholds[name]) for name in ("broad_entropy", "position", "special")]
    return {"nb_thresholds": Measured(values, NO, "a choice, not a measurement: the thresholds that this run uses")}
