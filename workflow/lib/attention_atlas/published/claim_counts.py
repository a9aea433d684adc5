"""Counts of claims in the summary of the scoreboard, in words; imports nothing heavy."""

CLAIM_COUNTS = {
    "claims_hold": "hold",
    "claims_do_not_hold": "do not hold",
    "claims_undecided": "undecided",
    "claims_not_tested": "not tested",
}
"""Column of the summary -> what it counts."""
