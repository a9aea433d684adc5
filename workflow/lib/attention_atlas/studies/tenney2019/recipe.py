"""Training recipe of edge probes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """Training recipe of probes; the defaults are those of the published code.

    Attributes:
        batch: sentences per step; for semantic roles, predicates with their arguments.
        learning_rate, mixing_rate_factor: see `probes.optimiser`.
        evaluation_interval: steps between two evaluations.
        max_steps: largest number of steps.
        equal_steps: steps of probes that take a fixed number.
        halve_after: evaluations in a row without a gain of at least 1e-4 (of 1) after which the learning rate is kept; the next
            such one halves it, as `ReduceLROnPlateau` of torch does with this patience.
        patience: evaluations in a row without any gain that are tolerated; the next such one ends training.
        min_learning_rate: learning rate below which training ends.
        evaluation_sentences: sentences (or predicates) at the start of the development set that an evaluation in training
            reads.
    """

    batch: int = 32
    learning_rate: float = 1e-4
    mixing_rate_factor: float = 1.0
    evaluation_interval: int = 1000
    max_steps: int = 250_000
    equal_steps: int = 10_000
    halve_after: int = 5
    patience: int = 20
    min_learning_rate: float = 1e-6
    evaluation_sentences: int = 5000
