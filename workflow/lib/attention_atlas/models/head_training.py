"""Length of the training of a masked-LM head. The cost model reads it when a run starts, so nothing heavy is imported here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

CHOSEN = 0.15
"""Share of the tokens that have a loss (Devlin et al. 2019, section 3.1)."""


def head_training_steps(settings: Mapping[str, Any], positions: float) -> int:
    """Optimiser steps of a masked-LM head: those of `epochs` passes over the masked tokens, `steps` at most.

    Args:
        settings: epochs, steps, and batch, the masked tokens in each step.
        positions: masked tokens of all training texts in all copies.
    """
    return min(settings["steps"], math.ceil(settings["epochs"] * positions / settings["batch"]))
