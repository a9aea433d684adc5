"""Intervals, tests and held-out choices that every study uses."""
