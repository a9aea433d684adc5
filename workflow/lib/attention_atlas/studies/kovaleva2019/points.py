"""The unit of scores and their changes, shared by tables, figures and claims."""

POINTS = "points (accuracy and F1 in %, correlation × 100)"
"""Scores of tasks have different units: a correlation is not a percentage."""
