"""The attention engine: observes and changes the attention of any model that uses transformers' attention interface.

`install` makes a model call one function for attention. Within `with watch(model, ...)` this function shows the
probabilities of each layer to observers and applies a `Plan`; outside it is the model's eager attention. It always
calls the eager function of the model's code, so that a forward pass without a plan is equal to eager bit for bit. Only
a session with `fused` uses scaled dot-product attention, in layers whose probabilities are not needed.

    install(model)
    with watch(model, observers=[see], plan=Plan().zero(layer=3, heads=[1, 6])) as session:
        session.batch(attention_mask)
        model(input_ids, attention_mask=attention_mask)
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

from attention_atlas.attention.plans import (
    DECODER_CROSS,
    DECODER_SELF,
    ENCODER_SELF,
    BatchFacts,
    LayerPlan,
    Plan,
    Side,
    Site,
    SiteKind,
)
from attention_atlas.errors import AtlasError

NAME = "atlas"  # the name under which the engine is registered as attention implementation

Observer = Callable[[Site, torch.Tensor], None]
"""Called once per layer with its site and probabilities [batch, head, query, key]."""

_EagerAttention = Callable[..., tuple[torch.Tensor, torch.Tensor]]
"""From module, query, key, value, mask and options to output and probabilities."""

_EAGER_ONLY = ("softcap", "s_aux")
"""Options of attention functions that scaled dot-product attention lacks: capped scores, and sinks that are learnt."""

_weighted: set[type[nn.Module]] = set()  # classes of attention that passed `_check_weighted_values`
_sessions: ContextVar[tuple[Session, ...]] = ContextVar("attention_atlas_sessions", default=())


def install(model: PreTrainedModel) -> None:
    """Make `model` compute attention through the engine; installing twice has no effect."""
    sites = _sites(model)
    if any(getattr(module, "reorder_and_upcast_attn", False) for module in sites.layers):
        raise AtlasError(
            f"{type(model).__name__} is configured with reorder_and_upcast_attn, an eager attention outside the "
            "attention interface; set it to false in the model's configuration."
        )
    model.set_attn_implementation(NAME)
    if used := _other_implementations(sites):
        raise AtlasError(
            f"{type(model).__name__} still computes attention by {used} after set_attn_implementation({NAME!r}), so "
            "its attention can neither be observed nor changed; use another model."
        )


def attention_shape(model: nn.Module) -> dict[SiteKind, tuple[int, int]]:
    """Number of layers and heads of each kind of attention in `model`, encoder first; some layers may have no attention."""
    return _sites(model).shape


def self_attention(model: nn.Module) -> tuple[SiteKind, int, int]:
    """Kind, layers and heads of the self-attention that the studies measure: the encoder's, or that of a decoder-only model."""
    sites = _sites(model)
    kind, (layers, heads) = next(iter(sites.shape.items()))
    name = type(model).__name__
    if kind != ENCODER_SELF and DECODER_CROSS in sites.shape:
        raise AtlasError(
            f"{name}: the attention of its encoder is computed outside the attention interface of transformers and cannot be "
            "observed; use another model."
        )
    without = sorted(site.layer for site in sites.absent if site.site_kind == kind)
    if without:
        raise AtlasError(
            f"{name}: {len(without)} of {layers} layers ({', '.join(map(str, without))}) have no attention that can be "
            "observed. The studies compare all layers; watch() observes those that have attention."
        )
    for module in sites.layers:
        if any("sink" in parameter for parameter, _ in module.named_parameters()):
            raise AtlasError(
                f"{name}: its heads have learnt sinks, which take a part of the attention of each token, so rows of its maps "
                "do not sum to 1, as the studies assume; watch() observes them as they are."
            )
    return kind, layers, heads


def attention_layers(model: nn.Module) -> dict[SiteKind, list[str]]:
    """Names of the attention modules of each kind in `model`, by layer; a module that layers share occurs once.

    Layers without attention have none.
    """
    sites = _sites(model)
    name_of_module = {module: name for name, module in model.named_modules()}
    in_order = sorted(sites.layers.items(), key=lambda item: item[1][1] or 0)
    return {kind: [name_of_module[module] for module, (of_kind, _) in in_order if of_kind == kind] for kind in sites.shape}


@contextlib.contextmanager
def watch(
    model: nn.Module,
    observers: Sequence[Observer] = (),
    plan: Plan | None = None,
    applied: Sequence[Observer] = (),
    outputs: Sequence[Observer] = (),
    values: Sequence[Observer] = (),
    fused: bool = False,
) -> Iterator[Session]:
    """Pass the attention of `model` to observers, and change it by `plan`, in all forward passes within the block.

    The state belongs to the calling context (thread or task), not to the model. When sessions are nested, an attention
    layer belongs to the innermost session of its model.

    Args:
        model: a model that `install` was called on, or a module that contains one.
        observers: called with each layer's probabilities before any intervention. They are the tensor that the
            forward pass continues with, so `torch.autograd.grad(loss, probabilities)` is the derivative by the
            attention weights as free variables. The engine keeps no reference to them. In training mode they include
            dropout, as in eager attention.
        plan: the interventions; None changes nothing.
        applied: called with each layer's probabilities after the intervention.
        outputs: called with the outputs of each layer's heads, [batch, query, head, size], after the intervention.
        values: called with each layer's value vectors, including biases, [batch, head, key, size]; heads that share keys
            and values (grouped-query attention) have the same ones.
        fused: use torch's scaled dot-product attention, which keeps no probabilities, in layers that the plan does not change
            or in which it only replaces outputs. Equal to eager up to rounding, and faster on long inputs. It has no effect in
            training, with observers, and on models whose attention it cannot compute.
    """
    sites = _sites(model)
    if used := _other_implementations(sites):
        raise AtlasError(
            f"{type(model).__name__} computes attention by {used}, not through the engine; call install(model) first."
        )
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    compiled = {} if plan is None else plan.compile(sites.shape, device, sites.absent)
    observed = bool(observers or applied or outputs or values)
    session = Session(sites, compiled, observers=observers, applied=applied, outputs=outputs, values=values)
    session.fused = fused and not observed and getattr(model, "_supports_sdpa", False)
    token = _sessions.set((session, *_sessions.get()))
    try:
        yield session
    finally:
        _sessions.reset(token)


class Session:
    """State of one `watch` block: observers and interventions."""

    def __init__(self, sites: _Sites, plan: dict[Site, LayerPlan], **observers: Sequence[Observer]) -> None:
        self._sites, self._plan = sites, plan
        self._observers = {name: tuple(of_name) for name, of_name in observers.items()}
        self._calls: Counter[SiteKind] = Counter()
        self.fused = False
        self.batch()

    def batch(
        self,
        attention_mask: torch.Tensor | None = None,
        sentence_ids: torch.Tensor | None = None,
        *,
        decoder_attention_mask: torch.Tensor | None = None,
        decoder_sentence_ids: torch.Tensor | None = None,
    ) -> None:
        """Set the facts of the next batch; they apply until the next call.

        Args:
            attention_mask: [batch, n], 1 for real tokens and 0 for padding. In models with cross-attention these are
                the tokens of the encoder side.
            sentence_ids: [batch, n], the sentence of each token, -1 for tokens outside of sentences.
            decoder_attention_mask: [batch, m], the same for the decoder side of models with cross-attention; without
                it the decoder's causal mask determines the visible tokens.
            decoder_sentence_ids: [batch, m], the same for the decoder side.
        """
        two_texts = DECODER_CROSS in self._sites.shape
        self._facts = BatchFacts(
            source=Side(attention_mask, sentence_ids),
            target=Side(decoder_attention_mask, decoder_sentence_ids) if two_texts else None,
        )
        self._calls.clear()

    def _site(self, module: nn.Module) -> Site:
        kind, layer = self._sites.layers[module]
        if layer is None:
            layer = self._calls[kind] % self._sites.shape[kind][0]
            self._calls[kind] += 1
        return Site(*kind, layer + 1)

    def _attend(
        self,
        module: nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        additive_mask: torch.Tensor | None,
        **options: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        site = self._site(module)
        layer_plan = self._plan.get(site)
        fusible = not module.training and all(options.get(name) is None for name in _EAGER_ONLY)
        if self.fused and fusible and (layer_plan is None or layer_plan.replaces_outputs_only):
            output, _ = sdpa_attention_forward(module, query, key, value, additive_mask, **options)
            return (output if layer_plan is None else layer_plan.replaced_outputs(output)), None
        output, probabilities = _eager(module)(module, query, key, value, additive_mask, **options)
        for observer in self._observers["observers"]:
            observer(site, probabilities)
        for observer in self._observers["values"]:
            observer(site, _of_each_head(value, probabilities))
        if layer_plan is not None:
            if not layer_plan.replaces_outputs_only:
                _check_weighted_values(type(module), output, probabilities, value)
            probabilities = layer_plan.apply(probabilities, additive_mask, self._facts)
            if not layer_plan.replaces_outputs_only:
                output = _weighted_values(probabilities, value)
            output = layer_plan.replaced_outputs(output)
        for observer in self._observers["applied"]:
            observer(site, probabilities)
        for observer in self._observers["outputs"]:
            observer(site, output)
        return output, probabilities


class _Sites(NamedTuple):
    """The attention modules of a model.

    `layers` maps each module to its site kind and the place of its layer, from 0; this is None if several layers share modules
    and only the order of the calls determines the layer. `absent`: layers without attention of a kind that other layers have.
    """

    layers: dict[nn.Module, tuple[SiteKind, int | None]]
    shape: dict[SiteKind, tuple[int, int]]
    absent: frozenset[Site]


def _sites(model: nn.Module) -> _Sites:
    modules_of_kind: dict[SiteKind, list[tuple[str, nn.Module]]] = {}
    for name, module in model.named_modules():
        if _eager_attention(type(module)) is not None:  # type: ignore[arg-type]
            modules_of_kind.setdefault(_site_kind(name, module, model), []).append((name, module))
    if not modules_of_kind:
        raise AtlasError(_no_interface(type(model)))
    layers: dict[nn.Module, tuple[SiteKind, int | None]] = {}
    absent: set[Site] = set()
    shape: dict[SiteKind, tuple[int, int]] = {}
    for kind in sorted(modules_of_kind, key=[ENCODER_SELF, DECODER_SELF, DECODER_CROSS].index):
        names, modules = zip(*modules_of_kind[kind], strict=True)
        heads = {_heads(module) for module in modules}
        if len(heads) > 1:
            raise AtlasError(
                f"{type(model).__name__} has {kind} attention layers with different numbers of heads "
                f"({', '.join(str(n) for n in sorted(heads))}); pass the intended part of the model."
            )
        layer_count = _shared_layers(modules[0])
        if layer_count is None:
            numbers, layer_count = _layer_numbers(names, modules, kind, model)
            layers.update({module: (kind, number) for module, number in zip(modules, numbers, strict=True)})
            absent |= {Site(*kind, number + 1) for number in set(range(layer_count)) - set(numbers)}
        else:
            layers.update(dict.fromkeys(modules, (kind, None)))
        shape[kind] = (layer_count, heads.pop())
    return _Sites(layers, shape, frozenset(absent))


def _site_kind(name: str, module: nn.Module, model: nn.Module) -> SiteKind:
    parts = name.split(".")
    class_and_path = ".".join([type(module).__name__, *parts[-2:]]).lower()
    if any(mark in class_and_path for mark in ("crossatt", "cross_att", "encoder_attn", "encdecatt")):
        return DECODER_CROSS
    marked = getattr(module, "is_causal", False) or getattr(module, "is_decoder", False) or "decoder" in parts
    return DECODER_SELF if marked or _has_causal_mask(parts, model) else ENCODER_SELF


def _has_causal_mask(parts: Sequence[str], model: nn.Module) -> bool:
    """Whether the modules around the one at this path make causal masks and no others; some attention classes do not say."""
    around = [model.get_submodule(".".join(parts[:depth])) for depth in range(len(parts))]
    used = {name for module in around for name in inspect.unwrap(type(module).forward).__code__.co_names}
    makers = {name for name in used if name.startswith("create_") and name.endswith("_mask")}
    return bool(makers) and all("causal" in name for name in makers)


def _layer_numbers(
    names: Sequence[str], modules: Sequence[nn.Module], kind: SiteKind, model: nn.Module
) -> tuple[list[int], int]:
    """The layer of each module, and the number of layers with and without attention of this kind.

    The layer is the first integer in the dotted names that differs between all of them, or what the modules say it is.
    """
    integers = [[place for place, part in enumerate(name.split(".")) if part.isdecimal()] for name in names]
    for places in zip(*integers, strict=False):
        numbers = [int(name.split(".")[place]) for name, place in zip(names, places, strict=True)]
        if len(set(numbers)) == len(names):
            layers = model.get_submodule(".".join(names[0].split(".")[: places[0]]))
            return numbers, max(len(layers) if isinstance(layers, nn.ModuleList) else 0, max(numbers) + 1)
    if len(names) == 1:
        return [0], 1
    stated = [number for module in modules if isinstance(number := getattr(module, "layer_idx", None), int)]
    if len(set(stated)) == len(names):
        return stated, 1 + max(stated)
    raise AtlasError(
        f"The {kind} attention layers of {type(model).__name__} cannot be distinguished by their names "
        f"({', '.join(names[:3])}, ...); pass the intended part of the model."
    )


def _shared_layers(module: nn.Module) -> int | None:
    """Number of layers if layers share modules (ALBERT's groups), otherwise None."""
    config: Any = module.config
    if getattr(config, "num_hidden_groups", None) is None:
        return None
    return int(config.num_hidden_layers * config.inner_group_num)


def _heads(module: nn.Module) -> int:
    for name in ("num_attention_heads", "num_heads", "n_heads"):
        if isinstance(heads := getattr(module, name, None), int):
            return heads
    config: Any = module.config
    return int(config.num_attention_heads)


def _other_implementations(sites: _Sites) -> str:
    configs: list[Any] = [module.config for module in sites.layers]
    used = {config._attn_implementation for config in configs} - {NAME}
    return ", ".join(sorted(map(repr, used)))


def _no_interface(kind: type[nn.Module]) -> str:
    return (
        f"{kind.__name__} computes attention without the attention interface of transformers "
        "(ALL_ATTENTION_FUNCTIONS with an eager_attention_forward), so its attention can neither be seen nor changed; "
        "use another model (BERT, RoBERTa, ELECTRA, DistilBERT, ALBERT, GPT-2, Llama, Marian, ...)."
    )


@functools.cache
def _eager_attention(attention_class: type[nn.Module]) -> _EagerAttention | None:
    """The eager attention that the methods of `attention_class` pass to the attention interface, None if they do not.

    It is looked up in the globals of the method that calls the interface, which is correct for inherited methods and for
    files that import the eager attention of another model.
    """
    for ancestor in attention_class.__mro__:
        for method in vars(ancestor).values():
            if not isinstance(method, FunctionType):
                continue
            method = inspect.unwrap(method)
            if "get_interface" in method.__code__.co_names:
                return method.__globals__.get("eager_attention_forward")
    return None


def _weighted_values(probabilities: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Output of attention [batch, query, head, size] for probabilities [batch, head, query, key]."""
    return torch.matmul(probabilities, _of_each_head(value, probabilities)).transpose(1, 2).contiguous()


def _check_weighted_values(
    attention_class: type[nn.Module], output: torch.Tensor, probabilities: torch.Tensor, value: torch.Tensor
) -> None:
    """Check once for each class that the outputs of heads are their values weighted by the probabilities."""
    if attention_class in _weighted:
        return
    difference = (_weighted_values(probabilities, value) - output).abs().max()
    if difference > 0.01 * output.abs().max():
        raise AtlasError(
            f"{attention_class.__name__}: the outputs of its heads are not sums of values weighted by attention alone, so only "
            "masking of heads is possible."
        )
    _weighted.add(attention_class)


def _of_each_head(value: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
    """[batch, head, key, size] values; values shared by a group of heads are repeated for each head."""
    if value.shape[1] == probabilities.shape[1]:
        return value
    return value.repeat_interleave(probabilities.shape[1] // value.shape[1], dim=1)


def _atlas_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: object,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The attention function that transformers calls: that of the session of `module`, or eager attention."""
    for session in _sessions.get():
        if module in session._sites.layers:
            return session._attend(module, query, key, value, attention_mask, **options)
    return _eager(module)(module, query, key, value, attention_mask, **options)


def _eager(module: nn.Module) -> _EagerAttention:
    # mypy compares a class with the __hash__ of its objects.
    eager = _eager_attention(type(module))  # type: ignore[arg-type]
    if eager is None:
        raise AtlasError(_no_interface(type(module)))
    return eager


AttentionInterface.register(NAME, _atlas_attention)
# Without a mask function of the same name the model passes no mask, and tokens attend to padding.
AttentionMaskInterface.register(NAME, eager_mask)
