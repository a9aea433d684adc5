"""Which heads are masked: each head alone, or all other heads of its layer (Michel et al. 2019, sections 3.2, 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from attention_atlas.attention.plans import DECODER_CROSS, DECODER_SELF, ENCODER_SELF, Plan, SiteKind
from attention_atlas.methods.names import HEAD, NONE, ONE, OTHERS

KINDS = {"enc_enc": ENCODER_SELF, "enc_dec": DECODER_CROSS, "dec_dec": DECODER_SELF}
"""Names of the kinds of attention in tables and published values (E, A and D in the published code)."""


@dataclass(frozen=True)
class Mask:
    """A mask, identified by `KEYS`, and its plan."""

    masked: str
    kind: str
    layer: int
    head: int
    plan: Plan

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Values of `KEYS`."""
        return self.masked, self.kind, self.layer, self.head


UNMASKED = (NONE, "", 0, 0)


def masks(shape: Mapping[SiteKind, tuple[int, int]]) -> Iterator[Mask]:
    """All masks of a model: for each kind, layer and head, the head alone and all other heads of its layer.

    Args:
        shape: number of layers and heads of each kind of attention (`engine.attention_shape`).
    """
    for kind, site in KINDS.items():
        layers, heads = shape.get(site, (0, 0))
        for layer in range(layers):
            for head in range(heads):
                remaining_heads = [index for index in range(heads) if index != head]
                yield Mask(ONE, kind, layer + 1, head + 1, Plan().zero(layer, head, site))
                if remaining_heads:
                    yield Mask(OTHERS, kind, layer + 1, head + 1, Plan().zero(layer, remaining_heads, site))


def heads_of(shape: Mapping[SiteKind, tuple[int, int]]) -> pd.DataFrame:
    """One row for each head of a model, columns `names.HEAD`, in the order of `masks`."""
    sizes = [(kind, *shape[site]) for kind, site in KINDS.items() if site in shape]
    rows = [(kind, layer + 1, head + 1) for kind, layers, heads in sizes for layer in range(layers) for head in range(heads)]
    return pd.DataFrame(rows, columns=HEAD)


def plan_without(heads: pd.DataFrame) -> Plan:
    """A plan that masks the heads in the rows (columns `names.HEAD`)."""
    plan = Plan()
    for (kind, layer), layer_heads in heads.groupby(["kind", "layer"], sort=False):
        plan = plan.zero(int(layer) - 1, [head - 1 for head in layer_heads["head"]], KINDS[str(kind)])
    return plan
