"""Masked heads: which ones, in which order, what a model answers without them, and gradients of its loss (Michel et al. 2019).

Each head's output is multiplied by a gate with value 1, separately for every example. Since the loss is summed over examples,
the derivative by an example's gate is that of this example's loss.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.attention.batches import GRADIENT_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.engine import attention_shape, watch
from attention_atlas.attention.plans import DECODER_CROSS, DECODER_SELF, ENCODER_SELF, Plan, Site, SiteKind
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_measures import ANSWERS, CLASSIFICATION, HEAD, NONE, ONE, OTHERS, STEP
from attention_atlas.methods.importance import Derivatives

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
KINDS = {"enc_enc": ENCODER_SELF, "enc_dec": DECODER_CROSS, "dec_dec": DECODER_SELF}
"""Names of the kinds of attention in tables and published values (E, A and D in the published code)."""
Key = tuple[str, str, int, int]
UNMASKED: Key = (NONE, "", 0, 0)


class Experiment(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def model(self) -> PreTrainedModel: ...
    @property
    def pad(self) -> int: ...
    def expected(self, examples: Sequence[Example]) -> list[str]:
        """References or labels of examples; AtlasError if one has none."""

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        """Answers of the unchanged model, then of the model under each plan."""

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        """The loss summed over the examples of a batch (and over the tokens of their translations)."""


def masks(shape: Mapping[SiteKind, tuple[int, int]]) -> dict[Key, Plan]:
    """`KEYS` -> plan of all masks of a model: for each kind, layer and head, the head alone and all others of its layer."""
    plans = {}
    for kind, layer, head in heads_of(shape).itertuples(index=False, name=None):
        site = KINDS[kind]
        plans[ONE, kind, layer, head] = Plan().zero(layer, head, site)
        if others := [other for other in range(1, shape[site][1] + 1) if other != head]:
            plans[OTHERS, kind, layer, head] = Plan().zero(layer, others, site)
    return plans


def heads_of(shape: Mapping[SiteKind, tuple[int, int]]) -> pd.DataFrame:
    """One row for each head of a model, columns `HEAD`, in the order of `masks`."""
    sizes = [(kind, *shape[site]) for kind, site in KINDS.items() if site in shape]
    rows = [(kind, layer + 1, head + 1) for kind, layers, heads in sizes for layer in range(layers) for head in range(heads)]
    return pd.DataFrame(rows, columns=HEAD)


def plan_without(heads: pd.DataFrame) -> Plan:
    """A plan that masks the heads in the rows (columns `HEAD`)."""
    plan = Plan()
    for (kind, layer), layer_heads in heads.groupby(["kind", "layer"], sort=False):
        plan = plan.zero(int(layer), layer_heads["head"], KINDS[str(kind)])
    return plan


def head_gradients(experiment: Experiment, examples: Sequence[Example], plan: Plan | None = None) -> Derivatives:
    """Derivatives for all heads and examples, in the order of the examples; 0 for heads that `plan` masks already."""
    heads = heads_of(attention_shape(experiment.model))
    rows = {example.record: row for row, example in enumerate(examples)}
    derivatives = np.zeros((3, len(examples), len(heads)))
    batches = list(batch_by_length(examples, GRADIENT_TOKENS))
    for batch in progress(batches, label="gradients of head gates"):
        derivatives[:, [rows[example.record] for example in batch]] = _of_batch(experiment, batch, plan or Plan())
    return Derivatives(heads, *derivatives)


def _of_batch(experiment: Experiment, batch: Sequence[Example], plan: Plan) -> Floats:
    """[measure, example, head]: the measures of `Derivatives`."""
    model, gates = experiment.model, {}
    for site, (layers, heads) in attention_shape(model).items():
        gates[site] = torch.ones(len(batch), layers, heads, device=model.device, requires_grad=True)
        plan = plan.gated(gates[site], site)
    outputs: dict[Site, torch.Tensor] = {}
    inputs = model_inputs(model, batch, experiment.pad)
    with torch.enable_grad(), watch(model, plan=plan, outputs=[outputs.__setitem__]) as session:
        session.batch(inputs["attention_mask"])
        loss = experiment.loss(inputs, batch)
    if not torch.isfinite(loss):
        raise AtlasError(
            f"the loss is not finite for a batch with example {batch[0].id}: check the model's weights and the corpus."
        )
    slopes = torch.autograd.grad(loss, [*gates.values(), *outputs.values()])
    by_gate = dict(zip(gates, slopes, strict=False))
    pairs = zip(outputs.items(), slopes[len(gates) :], strict=True)
    products = {site: (output.detach() * slope).sum(-1).abs() for (site, output), slope in pairs}
    measured = []
    for site in (site for site in KINDS.values() if site in gates):
        of_site = sorted((key for key in products if key.site_kind == site), key=lambda key: key.layer)
        magnitudes = torch.stack([products[key] for key in of_site], dim=1)  # [example, layer, position, head]
        reached = (magnitudes > 0).any(dim=-1).sum(dim=-1)[..., None].expand_as(by_gate[site])
        parts = (by_gate[site], magnitudes.sum(dim=2), reached)
        measured.append(torch.stack([part.double().flatten(1) for part in parts]).cpu().numpy())
    return np.concatenate(measured, axis=2)


def ascending(values: npt.ArrayLike) -> list[int]:
    """Indices of values in ascending order; ties keep their order."""
    return np.argsort(np.asarray(values), kind="stable").tolist()


def steps(heads: int, step: int, experiment: str) -> list[tuple[int, int]]:
    """(percent, heads masked) from 0 to 100 %: rounded down for classification, up for translation (published code)."""
    rounded_up = 0 if experiment == CLASSIFICATION else 99
    return [(percent, (percent * heads + rounded_up) // 100) for percent in [*range(0, 100, step), 100]]


def random_orders(heads: int, draws: int, seed: int) -> list[list[int]]:
    """Random orders of all heads, the same for the same seed."""
    generator = np.random.default_rng(seed)
    return [generator.permutation(heads).tolist() for _ in range(draws)]


def next_places(values: npt.ArrayLike, masked: Sequence[int], count: int) -> list[int]:
    """The masked indices plus those with the smallest remaining values, `count` in total."""
    remaining = [place for place in ascending(values) if place not in set(masked)]
    return [*masked, *remaining[: count - len(masked)]]


class Step(NamedTuple):
    """A pruning step; `half` says which examples use it: 0 (even positions), 1 (odd positions) or None (all)."""

    order: str
    scope: str
    draw: int
    percent: int
    places: tuple[int, ...]
    half: int | None = None


def step_answers(
    experiment: Experiment, heads: pd.DataFrame, pruning_steps: Sequence[Step], examples: Sequence[Example]
) -> pd.DataFrame:
    """Answers of the model at each step, columns `STEP` and `ANSWERS`; equal sets of masked heads are evaluated once."""
    expected = dict(zip((example.record for example in examples), experiment.expected(examples), strict=True))
    evaluated: dict[tuple[int | None, frozenset[int]], list[str]] = {}
    for half in sorted({step.half for step in pruning_steps}, key=str):
        in_half = examples if half is None else examples[half::2]
        masked = list(dict.fromkeys(frozenset(step.places) for step in pruning_steps if step.half == half and step.places))
        _log.info("%d examples with %d sets of heads masked", len(in_half), len(masked))
        plans = [plan_without(heads.iloc[sorted(places)]) for places in masked]
        for places, answers in zip([frozenset(), *masked], experiment.answers(in_half, plans), strict=True):
            evaluated[half, places] = answers
    frames = []
    for step in pruning_steps:
        records = [example.record for example in (examples if step.half is None else examples[step.half :: 2])]
        key = (step.order, step.scope, step.draw, step.percent, len(step.places))
        values = (records, evaluated[step.half, frozenset(step.places)], [expected[record] for record in records])
        frames.append(pd.DataFrame(dict(zip([*STEP, *ANSWERS], (*key, *values), strict=True))))
    table = pd.concat(frames, ignore_index=True)
    # The two halves of a held-out order together form one step over all examples.
    position = table["record"].map({record: number for number, record in enumerate(expected)})
    order = np.lexsort((position, table.groupby(STEP, sort=False).ngroup()))
    return table.iloc[order].reset_index(drop=True)
