"""Queries that a mean gradient of Figure 3 is over."""

PREDICTED, ALL_ROWS, REACHABLE = "predicted", "all", "reachable"
ROWS = (PREDICTED, ALL_ROWS, REACHABLE)
"""Queries of predicted tokens; all; all whose gradient can differ from 0.

The last are in the last layer those of predicted tokens, in others all, which makes a jump in the last layer.
"""
