"""Interventions on attention: which heads are masked, disabled, restricted or gated, and how this changes a map.

A `Plan` describes what is done to which heads, independently of a model. `Plan.compile` checks it against the shape of a
model and returns one `LayerPlan` per changed layer, which computes the changed probabilities with a few tensor
operations. Layers and heads are named as in papers and tables, from 1; only the axes of arrays start at 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch

from attention_atlas.errors import AtlasError

Action = Literal["zero", "uniform", "intra", "inter", "renormalise", "constant"]


class SiteKind(NamedTuple):
    """A family of attention layers: `stack` "encoder" or "decoder", `kind` "self" or "cross"."""

    stack: str
    kind: str

    def __str__(self) -> str:
        return f"{self.stack}/{self.kind}"


ENCODER_SELF = SiteKind("encoder", "self")
DECODER_SELF = SiteKind("decoder", "self")
DECODER_CROSS = SiteKind("decoder", "cross")

Shape = Mapping[SiteKind, tuple[int, int]]  # layers and heads of each site kind of a model


@dataclass(frozen=True)
class Site:
    """One attention layer of a model; `layer` counts from 1 within its site kind."""

    stack: str
    kind: str
    layer: int

    @property
    def site_kind(self) -> SiteKind:
        """The family that the layer belongs to."""
        return SiteKind(self.stack, self.kind)


@dataclass(frozen=True, eq=False)
class Side:
    """Token facts of one side of a batch: `attention_mask` [batch, n] 0/1, `sentence_ids` [batch, n], -1 = none."""

    attention_mask: torch.Tensor | None = None
    sentence_ids: torch.Tensor | None = None


@dataclass(frozen=True, eq=False)
class BatchFacts:
    """Facts about a batch that interventions need.

    Models with cross-attention read one text on the encoder side (`source`) and another on the decoder side
    (`target`); for all others `target` is None, and `source` is the only text.
    """

    source: Side = Side()
    target: Side | None = None

    def queries(self, site: Site) -> Side:
        """The text that the queries of `site` come from."""
        return self.source if site.stack == "encoder" else self._of_decoder

    def keys(self, site: Site) -> Side:
        """The text that the keys of `site` come from."""
        return self._of_decoder if site.site_kind == DECODER_SELF else self.source

    @property
    def _of_decoder(self) -> Side:
        return self.source if self.target is None else self.target


@dataclass(frozen=True, eq=False)
class _Edit:
    action: Action
    where: SiteKind | None
    layer: int
    heads: tuple[int, ...] | None
    outputs: torch.Tensor | None = None  # of "constant", [head, size]


@dataclass(frozen=True, eq=False)
class _Gate:
    where: SiteKind | None
    values: torch.Tensor


@dataclass(frozen=True, eq=False)
class Plan:
    """Immutable description of interventions; every method returns a new, extended plan.

    Regardless of the order of the calls, each head is changed in this order: uniform, drops (with renormalisation), zero,
    gates, constant. A head that is both uniform and zero is therefore zero, and a gate scales the result of the other
    changes.

    Head 3-1 is `layer=3, heads=1`. `heads` is one head, several, or None for all heads of the layer. `where` names the site
    kind (`ENCODER_SELF`, `DECODER_SELF`, `DECODER_CROSS`) and may be left out for models that have only one.
    """

    edits: tuple[_Edit, ...] = ()
    gates: tuple[_Gate, ...] = ()

    def zero(self, layer: int, heads: int | Iterable[int] | None = None, where: SiteKind | None = None) -> Plan:
        """Set the probabilities of the heads to 0, so that they contribute nothing to the layer (Michel et al. 2019).

        This removes the head's value bias too; the bias of the output projection stays.
        """
        return self._with("zero", layer, heads, where)

    def uniform(self, layer: int, heads: int | Iterable[int] | None = None, where: SiteKind | None = None) -> Plan:
        """Replace the probabilities by 1/n over the n real tokens of each example (Kovaleva et al. 2019, figure 8).

        Padding gets 0. In causal self-attention n counts the tokens that the query may see. Needs the attention mask
        of the batch.
        """
        return self._with("uniform", layer, heads, where)

    def drop(
        self,
        layer: int,
        heads: int | Iterable[int] | None = None,
        *,
        which: Literal["intra", "inter"],
        renormalise: bool = False,
        where: SiteKind | None = None,
    ) -> Plan:
        """Set attention within a sentence ("intra") or between sentences ("inter") to 0 (Guan et al. 2020, table 3).

        Tokens whose sentence id is -1 are never affected, neither as query nor as key. With `renormalise` the rows of
        these heads are rescaled to sum 1 after all drops; a row without any attention left stays zero. Needs the
        sentence ids of the batch.
        """
        if which not in ("intra", "inter"):
            raise ValueError(f"which must be 'intra' or 'inter', not {which!r}")
        plan = self._with(which, layer, heads, where)
        return plan._with("renormalise", layer, heads, where) if renormalise else plan

    def constant(
        self, layer: int, outputs: torch.Tensor, heads: int | Iterable[int] | None = None, where: SiteKind | None = None
    ) -> Plan:
        """Replace the outputs of the heads by the same vector for every token, such as their mean output over some data.

        `outputs`: [head, size] for all heads of the layer; only those of the changed heads are used.
        """
        return self._with("constant", layer, heads, where, outputs)

    def gated(self, gates: torch.Tensor, where: SiteKind | None = None) -> Plan:
        """Multiply the probabilities of each head by `gates`, broadcastable to [batch, layer, head].

        Differentiable: with gates of ones and a loss summed over examples, one backward pass puts the derivative
        of each example's loss into `gates.grad[b, layer, head]` (the importance of Michel et al. 2019).
        """
        return replace(self, gates=(*self.gates, _Gate(where, gates)))

    def part(self, stack: str) -> Plan:
        """The part of the plan for one stack, "encoder" or "decoder"."""
        kinds = [edit.where for edit in self.edits] + [gate.where for gate in self.gates]
        if None in kinds:
            raise AtlasError("The plan does not say which attention it changes: name the site kind (where=...).")
        edits = tuple(edit for edit in self.edits if edit.where and edit.where.stack == stack)
        return Plan(edits, tuple(gate for gate in self.gates if gate.where and gate.where.stack == stack))

    @property
    def unchanged_layers(self) -> int:
        """How many layers come before the first one that the plan changes: their outputs are the same as without a plan."""
        return 0 if self.gates else min((edit.layer for edit in self.edits), default=1) - 1

    def compile(self, shape: Shape, device: torch.device | str = "cpu", absent: Collection[Site] = ()) -> dict[Site, LayerPlan]:
        """Check the plan against a model and return the plans of changed layers."""
        masks: dict[Site, dict[Action, torch.Tensor]] = {}
        gates: dict[SiteKind, list[torch.Tensor]] = {}
        outputs: dict[Site, torch.Tensor] = {}
        for edit in self.edits:
            site, wanted, heads = _located(edit, shape, absent)
            mask = masks.setdefault(site, {}).setdefault(edit.action, torch.zeros(heads, dtype=torch.bool))
            places = [head - 1 for head in wanted]
            mask[places] = True
            if edit.outputs is None:
                continue
            if edit.outputs.ndim != 2 or len(edit.outputs) != heads:
                raise AtlasError(
                    f"Constant outputs of shape {tuple(edit.outputs.shape)} do not fit layer {site.layer} of the "
                    f"{site.site_kind} attention: they must be [{heads} heads, size]."
                )
            known = outputs.setdefault(site, torch.zeros_like(edit.outputs, device=device))
            known[places] = edit.outputs.to(known)[places]
        for gate in self.gates:
            where = _resolve(gate.where, shape)
            _check_gates(gate.values, where, *shape[where])
            gates.setdefault(where, []).append(gate.values)
        gated = {Site(*where, layer) for where in gates for layer in range(1, shape[where][0] + 1)}
        return {
            site: LayerPlan(
                site,
                shape[site.site_kind][1],
                **{action: mask.to(device) for action, mask in masks.get(site, {}).items()},
                gates=tuple(gates.get(site.site_kind, ())),
                outputs=outputs.get(site),
            )
            for site in masks.keys() | gated
        }

    def _with(
        self,
        action: Action,
        layer: int,
        heads: int | Iterable[int] | None,
        where: SiteKind | None,
        outputs: torch.Tensor | None = None,
    ) -> Plan:
        if heads is not None:
            heads = tuple(int(head) for head in heads) if isinstance(heads, Iterable) else (int(heads),)
        return replace(self, edits=(*self.edits, _Edit(action, where, int(layer), heads, outputs)))


@dataclass(frozen=True, eq=False)
class LayerPlan:
    """The interventions on one layer: boolean head masks [head] (None = no head), gates, outputs [head, size] (see `Plan`)."""

    site: Site
    heads: int
    zero: torch.Tensor | None = None
    uniform: torch.Tensor | None = None
    intra: torch.Tensor | None = None
    inter: torch.Tensor | None = None
    renormalise: torch.Tensor | None = None
    constant: torch.Tensor | None = None
    gates: tuple[torch.Tensor, ...] = ()
    outputs: torch.Tensor | None = None

    @property
    def replaces_outputs_only(self) -> bool:
        """Whether nothing but removed and constant heads changes the layer."""
        changes = (self.uniform, self.intra, self.inter, self.renormalise)
        return not self.gates and all(mask is None for mask in changes)

    def replaced_outputs(self, output: torch.Tensor) -> torch.Tensor:
        """Outputs of heads, [batch, query, head, size], with those of removed heads set to 0, of constant heads replaced."""
        self._check_heads(output.shape[2])
        if self.zero is not None:
            output = output.masked_fill(self.zero.to(output.device)[None, None, :, None], 0)
        if self.constant is None or self.outputs is None:
            return output
        return torch.where(self.constant.to(output.device)[None, None, :, None], self.outputs.to(output)[None, None], output)

    def apply(self, probabilities: torch.Tensor, additive_mask: torch.Tensor | None, facts: BatchFacts) -> torch.Tensor:
        """Return the changed probabilities; the argument is not modified.

        `probabilities`: [batch, head, query, key]; `additive_mask`: the mask that the model adds to the scores, [batch, 1,
        query, key], or None.
        """
        self._check_heads(probabilities.shape[1])
        changed = probabilities
        if self.uniform is not None:
            visible = _visible(self.site, probabilities, additive_mask, facts)
            rows = visible / visible.sum(-1, keepdim=True).clamp(min=1)
            changed = torch.where(_per_head(self.uniform, changed), rows.to(changed.dtype), changed)
        if self.intra is not None or self.inter is not None:
            changed = self._cut(changed, facts)
        if self.zero is not None:
            changed = changed.masked_fill(_per_head(self.zero, changed), 0)
        for gate in self.gates:
            changed = changed * self._factors(gate.to(changed), changed.shape[0])
        return changed

    def _check_heads(self, heads: int) -> None:
        if heads != self.heads:
            raise AtlasError(
                f"Layer {self.site.layer} of the {self.site.site_kind} attention has {heads} heads, "
                f"not the {self.heads} that the model's configuration names; plans cannot change pruned models."
            )

    def _factors(self, gate: torch.Tensor, batch: int) -> torch.Tensor:
        gate = gate[(None,) * (3 - gate.ndim)]
        of_layer = gate[:, self.site.layer - 1 if gate.shape[1] > 1 else 0, :, None, None]
        return of_layer if len(of_layer) == 1 else _rows(of_layer, batch, self.site, "gates")

    def _cut(self, probabilities: torch.Tensor, facts: BatchFacts) -> torch.Tensor:
        query_ids, key_ids = facts.queries(self.site).sentence_ids, facts.keys(self.site).sentence_ids
        if query_ids is None or key_ids is None:
            raise AtlasError(
                f"The plan removes {self.site.site_kind} attention by sentence, but the batch has no sentence ids; "
                "pass them to session.batch(attention_mask, sentence_ids) before the forward pass."
            )
        queries, keys = probabilities.shape[2:]
        positions = keys if self.site.kind == "self" else queries
        # During generation, the decoder's queries are only the last positions of its keys.
        query_ids = _fit(query_ids, probabilities, positions, self.site, new=-1)[:, positions - queries :]
        key_ids = _fit(key_ids, probabilities, keys, self.site, new=-1)
        of_query, of_key = query_ids[:, None, :, None], key_ids[:, None, None, :]
        owned = (of_query >= 0) & (of_key >= 0)
        same = of_query == of_key
        cut = torch.zeros((), dtype=torch.bool, device=probabilities.device)
        if self.intra is not None:
            cut = cut | (owned & same & _per_head(self.intra, probabilities))
        if self.inter is not None:
            cut = cut | (owned & ~same & _per_head(self.inter, probabilities))
        remaining = probabilities.masked_fill(cut, 0)
        if self.renormalise is None:
            return remaining
        total = remaining.sum(-1, keepdim=True)
        scaled = _per_head(self.renormalise, probabilities) & (total > 0)
        return remaining / torch.where(scaled, total, torch.ones_like(total))


def _located(edit: _Edit, shape: Shape, absent: Collection[Site]) -> tuple[Site, list[int], int]:
    """Site and heads that an edit changes, and how many heads the layer has."""
    where = _resolve(edit.where, shape)
    layers, heads = shape[where]
    if not 1 <= edit.layer <= layers:
        raise AtlasError(
            f"The plan names layer {edit.layer} of the {where} attention, which has layers 1 to {layers}; "
            "layers and heads of a plan count from 1, as in papers and tables."
        )
    if Site(*where, edit.layer) in absent:
        raise AtlasError(f"The plan names layer {edit.layer}, which has no {where} attention.")
    wanted = list(range(1, heads + 1) if edit.heads is None else edit.heads)
    for head in wanted:
        if not 1 <= head <= heads:
            raise AtlasError(
                f"The plan names head {head} in layer {edit.layer} of the {where} attention, which has heads "
                f"1 to {heads}; layers and heads of a plan count from 1, as in papers and tables."
            )
    return Site(*where, edit.layer), wanted, heads


def _resolve(where: SiteKind | None, shape: Shape) -> SiteKind:
    known = ", ".join(str(kind) for kind in shape)
    if where is None:
        if len(shape) > 1:
            raise AtlasError(f"The plan does not say which attention it changes; this model has {known}: name one.")
        return next(iter(shape))
    where = SiteKind(*where)
    if where not in shape:
        raise AtlasError(f"The plan changes {where} attention, which this model does not have: name {known}.")
    return where


def _check_gates(gates: torch.Tensor, where: SiteKind, layers: int, heads: int) -> None:
    shape = (1, 1, 1, *gates.shape)[-3:]
    if gates.ndim > 3 or shape[1] not in (1, layers) or shape[2] not in (1, heads):
        raise AtlasError(
            f"Gates of shape {tuple(gates.shape)} do not fit the {where} attention: they must be broadcastable to "
            f"[batch, {layers} layers, {heads} heads]."
        )


def _per_head(mask: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    return mask.to(probabilities.device)[None, :, None, None]


def _visible(site: Site, probabilities: torch.Tensor, additive_mask: torch.Tensor | None, facts: BatchFacts) -> torch.Tensor:
    """Which keys each query can attend to, boolean [batch or 1, 1, query or 1, key]."""
    queries, keys = probabilities.shape[2:]
    causal = site.site_kind == DECODER_SELF
    real = facts.keys(site).attention_mask
    if real is not None:
        visible = _fit(real, probabilities, keys, site, new=1).bool()[:, None, None, :]
    elif causal and facts.target is not None:
        # During generation there is no attention mask; the causal mask below is sufficient.
        visible = torch.ones((1, 1, 1, keys), dtype=torch.bool, device=probabilities.device)
    else:
        raise AtlasError(
            f"The plan makes {site.site_kind} attention uniform over the real tokens, but the batch has no attention "
            "mask; pass it to session.batch(attention_mask) before the forward pass."
        )
    if additive_mask is not None:
        # The mask also knows of causal and of sliding-window attention.
        return visible & (additive_mask[..., :keys] > torch.finfo(additive_mask.dtype).min / 2)
    if causal:
        return visible & torch.ones((queries, keys), dtype=torch.bool, device=visible.device).tril(keys - queries)
    return visible


def _fit(fact: torch.Tensor, probabilities: torch.Tensor, positions: int, site: Site, new: int) -> torch.Tensor:
    """Extend a fact [batch, n] to [batch, positions]; positions added by a decoder get the value `new`."""
    fact = _rows(fact.to(probabilities.device), probabilities.shape[0], site, "attention mask and sentence ids")
    if site.site_kind == DECODER_SELF and fact.shape[1] < positions:
        fact = torch.nn.functional.pad(fact, (0, positions - fact.shape[1]), value=new)
    if fact.shape[1] != positions:
        raise AtlasError(
            f"The {site.site_kind} attention has {positions} positions, but session.batch was given {fact.shape[1]}; "
            "call session.batch before each forward pass with the attention mask (and sentence ids) of that batch."
        )
    return fact


def _rows(fact: torch.Tensor, batch: int, site: Site, name: str) -> torch.Tensor:
    """Repeat the rows of `fact` for the beams of a decoder, so that it has `batch` rows."""
    if fact.shape[0] == batch:
        return fact
    if site.stack == "decoder" and fact.shape[0] > 0 and batch % fact.shape[0] == 0:
        return fact.repeat_interleave(batch // fact.shape[0], dim=0)
    raise AtlasError(
        f"The batch has {batch} examples in the {site.site_kind} attention, but {name} were given for "
        f"{fact.shape[0]}; pass those of this batch before its forward pass."
    )
