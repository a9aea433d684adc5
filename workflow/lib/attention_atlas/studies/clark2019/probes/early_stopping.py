"""Early stopping of probes on development sentences, each slot (alignment and seed) by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from attention_atlas.errors import AtlasError
from attention_atlas.studies.clark2019.probes.models import Probe

Words = tuple[str, ...]


def development_sentences(training: Sequence[Words], share: float, seed: int) -> frozenset[Words]:
    """The distinct sentences that are held out for development, by a seeded permutation of all distinct sentences.

    Equal sentences are on the same side, so that none is in both sets.

    Args:
        training: words of every sentence of the training treebank, in file order.
        share: of the distinct sentences, at least one of them; 0 keeps none.
        seed: of the permutation.

    Raises:
        AtlasError: there are fewer than two distinct sentences to divide.
    """
    if not share:
        return frozenset()
    distinct = list(dict.fromkeys(training))
    if len(distinct) < 2:
        raise AtlasError(
            f"probes.development_share: {len(distinct)} distinct training sentences cannot be divided into a training and a "
            "development set; set it to 0, or use more sentences."
        )
    count = min(max(1, round(share * len(distinct))), len(distinct) - 1)
    return frozenset(distinct[k] for k in np.random.default_rng(seed).permutation(len(distinct))[:count])


class EarlyStopping:
    """Keeps the parameters of each slot's best epoch; a slot ends after `patience` epochs without a lower development loss.

    An ended slot keeps its parameters while its probe is trained on for other slots: what a slot keeps does not depend on the
    others.

    Attributes:
        epochs: [slot] epoch whose parameters are kept, from 1; 0 before the first.
    """

    def __init__(self, probe: Probe, patience: int) -> None:
        self._probe, self._patience = probe, patience
        self._least_losses = torch.full((len(probe.slots),), torch.inf, dtype=torch.float64)
        self._ended = torch.zeros(len(probe.slots), dtype=torch.bool)
        self._best_parameters = [parameter.detach().clone() for parameter in probe.parameters()]
        self.epochs = torch.zeros(len(probe.slots), dtype=torch.int64)

    @property
    def over(self) -> bool:
        """Whether all slots have ended."""
        return bool(self._ended.all())

    def record(self, epoch: int, losses: torch.Tensor) -> None:
        """Keep the parameters of the slots that improve, and end those that have not for too long.

        Args:
            epoch: the epoch just trained, from 1.
            losses: [slot] on the development sentences.
        """
        better = ~self._ended & (losses < self._least_losses)
        self._least_losses[better] = losses[better]
        self.epochs[better] = epoch
        for best, parameter in zip(self._best_parameters, self._probe.parameters(), strict=True):
            slots = better.to(parameter.device)
            best[slots] = parameter.detach()[slots]
        self._ended |= epoch - self.epochs >= self._patience

    def restore(self) -> None:
        """Load the kept parameters into the probe."""
        with torch.no_grad():
            for best, parameter in zip(self._best_parameters, self._probe.parameters(), strict=True):
                parameter.copy_(best)
