"""Labels of axes that figures of the study share."""

from __future__ import annotations

LAYER_LABEL = "Layer (0: input of the first layer)"
