"""Queries that a mean gradient of Figure 3 is over."""

PREDICTED, ALL_ROWS, REACHABLE = "predicted", "all", "reachable"
ROWS = (PREDICTED, ALL_ROWS, REACHABLE)
"""Queries of predicted tokens; all queries; all whose gradient can differ from 0.

The last are all queries, but in the last layer only those of predicted tokens, which causes a jump there.
"""
