"""Figure 3: how much the masked-language-model loss depends on attention to [SEP], punctuation and other tokens (section 3.2).

For every head g[i, j] = |dL / dA[i, j]|, where the attention weight A is a free variable: a change of A acts through all later
layers, and rows are not renormalised. The loss is summed over the predicted tokens.

In the last layer a query affects only the prediction at its position: the gradient of all other rows is 0. So means of layers
can be compared only over one set of rows: those of the predicted tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.attention.batches import GRADIENT_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.engine import watch
from attention_atlas.attention.plans import ENCODER_SELF, Site
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import UNIT_COLUMNS, Units, independent_units, mean_rows
from attention_atlas.methods.surface import token_classes
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.devices import pick_device
from attention_atlas.models.language_models import LanguageModel, MaskedExample, MlmHead, mask_pieces, unmasked
from attention_atlas.stats.intervals import Floats, level_of_parts, percentile_interval, resampled_counts
from attention_atlas.studies.clark2019 import PREDICTED
from attention_atlas.studies.clark2019.claims import first_late_layer

MASKINGS = ("masked", "unmasked")
ALL_ROWS, REACHABLE = "all", "reachable"
ROWS = (PREDICTED, ALL_ROWS, REACHABLE)  # reachable: all, in the last layer the predicted ones, as others have no gradient
MEASURES = ("per_weight", "per_query", "gradient_x_attention")
TARGETS = ("sep", "cls", "punct", "other")
CLAIM_COLUMNS = ("layer", "ratio", "ci_low", "ci_high", "level", "n", *UNIT_COLUMNS)
COLUMNS = (
    *("masking", "rows", "measure", "target", "layer", "head", "value", "ci_low", "ci_high", "n"),
    *(*UNIT_COLUMNS, "mlm_head"),
)


def gradients(
    model: Mapping[str, Any], card: Card, mlm_head: MlmHead, examples: Examples, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Mean gradients of every head, and of attention to [SEP] by layer (`claims_frame`); no rows without a mask token.

    The bootstrap is over documents, or segments where the corpus names none.
    """
    if mlm_head.facts.origin == "none":
        return {"gradients": pd.DataFrame(columns=list(COLUMNS)), "claims": pd.DataFrame(columns=list(CLAIM_COLUMNS))}
    if not examples:
        raise AtlasError(
            "there is no segment to compute gradients on: every record was dropped (see dropped.tsv), or `limit` is too small."
        )
    masked_model = mlm_head.load(model, pick_device())
    units = independent_units([example.document for example in examples], "segments")
    values = {masking: segment_gradients(masked_model, card, examples, masking, seed) for masking in MASKINGS}
    frames = [
        mean_rows(by_target[:, k], resamples, seed, units).assign(masking=masking, rows=rows, measure=measure, target=target)
        for masking in MASKINGS
        for (rows, measure), by_target in values[masking].items()
        for k, target in enumerate(TARGETS)
    ]
    table = pd.concat([frame for frame in frames if len(frame)], ignore_index=True).assign(mlm_head=mlm_head.facts.words)
    claims = claims_frame(values["masked"][PREDICTED, "per_weight"], units, resamples, seed)
    return {"gradients": table[list(COLUMNS)], "claims": claims}


def segment_gradients(
    masked_model: LanguageModel, card: ModelCard, examples: Sequence[Example], masking: str, seed: int
) -> dict[tuple[str, str], Floats]:
    """(rows, measure) -> [segment, target, layer, head] gradients; NaN where a segment has no token of the target class."""
    assert card.mask is not None
    order = {example.record: k for k, example in enumerate(examples)}
    shape = (len(examples), len(TARGETS), card.layers, card.heads)
    by_measure = {key: np.full(shape, np.nan) for key in product(ROWS, MEASURES)}
    batches = list(batch_by_length(examples, GRADIENT_TOKENS))
    for batch in progress(batches, label=f"gradients, {masking}"):
        is_masked = masking == "masked"
        masked_batch = [mask_pieces(e, card.mask, masked_model.vocabulary, seed) if is_masked else unmasked(e) for e in batch]
        maps, slopes = attention_gradients(masked_model, batch, masked_batch, card.pad or 0)
        for key, values in _by_class(maps, slopes, batch, masked_batch, card).items():
            by_measure[key][[order[e.record] for e in batch]] = values
    return by_measure


def attention_gradients(
    masked_model: LanguageModel, batch: Sequence[Example], masked_batch: Sequence[MaskedExample], pad: int
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Attention maps and the derivatives of the summed loss by them: for each layer a padded tensor [batch, head, n, n]."""
    model = masked_model.model
    inputs = model_inputs(model, batch, pad)
    targets = torch.full_like(inputs["input_ids"], -100)
    for row, masked in enumerate(masked_batch):
        n = len(masked.input_ids)
        inputs["input_ids"][row, :n] = torch.from_numpy(masked.input_ids)
        targets[row, :n] = torch.from_numpy(np.where(masked.chosen, masked.targets, -100))
    maps: dict[int, torch.Tensor] = {}

    def store(site: Site, probabilities: torch.Tensor) -> None:
        if site.site_kind == ENCODER_SELF:
            maps[site.layer] = probabilities

    # Weights are frozen. A weight below the first attention layer requires gradients, so that autograd keeps all activations.
    first = model.get_input_embeddings().weight
    first.requires_grad_(True)
    try:
        with watch(model, observers=[store]) as session:
            session.batch(inputs["attention_mask"])
            loss = masked_model.loss(model(**inputs), targets)
        if not torch.isfinite(loss):
            raise AtlasError(
                f"the loss is not finite for a batch with example {batch[0].id}. Check the weights, or set dtype: float32."
            )
        layers = [maps[layer] for layer in sorted(maps)]
        slopes = torch.autograd.grad(loss, layers)
    finally:
        first.requires_grad_(False)
    return [layer.detach() for layer in layers], list(slopes)


def _by_class(
    maps: Sequence[torch.Tensor],
    slopes: Sequence[torch.Tensor],
    batch: Sequence[Example],
    masked_batch: Sequence[MaskedExample],
    card: ModelCard,
) -> dict[tuple[str, str], Floats]:
    """(rows, measure) -> [example, target, layer, head], as in `segment_gradients`."""
    # Tokens of each class [batch, target, n], and queries [batch, n]: those predicted, and all; as 0 and 1.
    longest = max(len(e.input_ids) for e in batch)
    columns = np.zeros((len(batch), len(TARGETS), longest), np.float32)
    predicted, everywhere = np.zeros((2, len(batch), longest), np.float32)
    for row, (example, masked) in enumerate(zip(batch, masked_batch, strict=True)):
        n = len(example.input_ids)
        classes = token_classes(example.tokens, card.cls, card.sep)
        # Token classes go by spelling; whether a token is special comes from the alignment with words.
        special = np.asarray(example.word) == SPECIAL
        # The paper has no class of [CLS]: it counts among the other tokens, too.
        is_other = ~(classes.sep | classes.punct)
        columns[row, :, :n] = np.stack([classes.sep & special, classes.cls & special, classes.punct & ~special, is_other])
        everywhere[row, :n] = 1
        predicted[row, :n] = masked.chosen
    queries = {PREDICTED: predicted, ALL_ROWS: everywhere}
    rows = torch.from_numpy(np.stack(list(queries.values()), axis=1)).to(maps[0].device)  # [batch, set of rows, n]
    by_column = torch.from_numpy(columns).to(maps[0].device)
    sizes = columns.sum(axis=-1)[..., None]  # [batch, target, 1]

    def received(values: torch.Tensor) -> npt.NDArray[np.float32]:
        """[set of rows, batch, target, head] sums over the rows and over the tokens of each class."""
        by_query = torch.einsum("bri,bhij->brhj", rows, values)
        return np.asarray(torch.einsum("bcj,brhj->rbch", by_column, by_query).cpu().numpy())

    by_layer: dict[tuple[str, str], list[npt.NDArray[np.float32]]] = {key: [] for key in product(queries, MEASURES)}
    for a, slope in zip(maps, slopes, strict=True):
        magnitude = slope.abs().float()
        gradients, products = received(magnitude), received(magnitude * a.float())
        for (name, included), gradient, weighted in zip(queries.items(), gradients, products, strict=True):
            count = included.sum(axis=-1)[:, None, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                by_layer[name, "per_weight"].append(gradient / (count * sizes))
                by_layer[name, "per_query"].append(np.where(sizes > 0, gradient / count, np.nan))
                by_layer[name, "gradient_x_attention"].append(weighted / (count * sizes))
    stacked = {key: np.stack(layers, axis=2).astype(np.float64) for key, layers in by_layer.items()}
    for measure in MEASURES:
        before, last = stacked[ALL_ROWS, measure][:, :, :-1], stacked[PREDICTED, measure][:, :, -1:]
        stacked[REACHABLE, measure] = np.concatenate([before, last], axis=2)
    return stacked


def claims_frame(values: Floats, units: Units, resamples: int, seed: int) -> pd.DataFrame:
    """Gradient of attention to [SEP], means over weights [segment, target, layer, head], relative to the largest layer mean.

    Rows: layers from 5 of 12 on; ci_low, ci_high: bootstrap over units, the largest mean taken in each resample; level:
    coverage of each interval, so that all hold together.
    """
    by_layer = values[:, TARGETS.index("sep")].mean(axis=2)
    has_value = ~np.isnan(by_layer).any(axis=1)
    if not has_value.any():
        return pd.DataFrame(columns=list(CLAIM_COLUMNS))
    layers = by_layer.shape[1]
    late = np.arange(first_late_layer(layers) - 1, layers)
    drawn = units.at(has_value)
    sums = drawn.sums(by_layer[has_value])
    means = sums.sum(axis=0)
    level = level_of_parts(len(late))
    low = high = np.full(layers, np.nan)
    if drawn.count > 1:
        resampled = np.concatenate([counts @ sums for counts in resampled_counts(drawn.count, resamples, seed)])
        low, high = percentile_interval(resampled / resampled.max(axis=1, keepdims=True), level)
    table = pd.DataFrame({"layer": late + 1, "ratio": (means / means.max())[late], "ci_low": low[late], "ci_high": high[late]})
    return table.assign(level=level, n=int(has_value.sum()), unit=drawn.name, units=drawn.count)
