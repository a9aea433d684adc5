"""Figure 3: how much the masked-language-model loss depends on attention to [SEP], punctuation and other tokens (section 3.2).

For every head g[i, j] = |dL / dA[i, j]|, the attention weight A taken as a free variable: a change of A acts through all later
layers, and rows are not renormalised. The loss is summed over the pieces that are predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.attention.batch_sizes import GRADIENT_TOKENS
from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import ENCODER_SELF, Site, watch
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.progress import progress
from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import mean_rows
from attention_atlas.methods.surface import token_classes
from attention_atlas.models.card import ModelCard, read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.masking import Masked, mask_pieces, unmasked
from attention_atlas.models.mlm_head import MaskedModel, load_masked_model, read_head_facts

MASKINGS = ("masked", "unmasked")
MEASURES = ("per_weight", "per_query", "gradient_x_attention")
TARGETS = ("sep", "punct", "other")
COLUMNS = ("masking", "measure", "target", "layer", "head", "value", "ci_low", "ci_high", "n", "mlm_head")
# Logits over the whole vocabulary are held for every piece of a batch.
Floats = npt.NDArray[np.float64]


def measure_gradients(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    head_path: str | Path,
    head_facts_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    options: Mapping[str, Any],
    resamples: int,
    seed: int,
    setting: Setting,
    threads: int,
    out: str | Path,
    variants_out: str | Path,
    html_out: str | Path,
) -> None:
    """Measure every head on all segments and write the tables; without a mask token in the vocabulary they have no rows.

    Args:
        model_entry, card_path: the model.
        head_path, head_facts_path: its head for hidden pieces.
        example_files: examples of the segments, in order.
        limit: records of the corpus that count.
        options: cls_is_other (whether [CLS] counts among the other tokens).
        resamples, seed: of the bootstrap over segments; the seed is that of the masking as well.
        setting: what was looked at.
        threads: threads of the passes.
        out: columns `COLUMNS`; value: mean over segments.
        variants_out, html_out: masking, measure, layer, sep, punct, other, sep_to_other: means over heads; and its page.

    Raises:
        AtlasError: the model cannot be loaded, gives a loss that is not finite, or there is no segment.
    """
    torch.set_num_threads(threads)
    card, facts = read_card(card_path), read_head_facts(head_facts_path)
    frame = pd.DataFrame(columns=list(COLUMNS))
    if facts.origin != "none":
        examples = list(read_examples(example_files, limit))
        if not examples:
            raise AtlasError("there is no segment to take gradients on: every record was dropped, or the limit is too small.")
        masked_model = load_masked_model(model_entry, head_path, facts, pick_device())
        frames = []
        for masking in MASKINGS:
            found = gradients(masked_model, card, examples, masking, seed, options["cls_is_other"])
            frames += [_frame(found[m], masking, m, resamples, seed) for m in MEASURES]
        frame = pd.concat(frames, ignore_index=True).assign(mlm_head=facts.words)
    write_table(frame, out)
    variants = variants_table(frame)
    write_table(variants, variants_out)
    notes = [
        setting.line,
        f"Prediction of hidden pieces: {facts.words}. Gradient of the loss summed over the predicted pieces by each attention "
        "weight, attention taken as a free variable. Masked: 15 % of the pieces hidden as in pre-training, loss on those; "
        "unmasked: nothing hidden, loss on every piece. Per weight: mean over weights to tokens of the class; per query: "
        "summed over the tokens of the class, mean over queries; gradient x attention: as per weight, of the product's "
        "magnitude. Queries that cannot reach the loss (in the last layer those that are not predicted) are left out.",
    ]
    names = {"sep": "to [SEP]", "punct": "to . and ,", "sep_to_other": "[SEP] to other"}
    formats = dict.fromkeys((*TARGETS, "sep_to_other"), ".3g") | {"layer": "d"}
    write_html_table(variants, html_out, "Clark et al. 2019, Figure 3: the variants", notes, names, formats)


def gradients(
    masked_model: MaskedModel, card: ModelCard, examples: Sequence[Example], masking: str, seed: int, cls_is_other: bool = True
) -> dict[str, Floats]:
    """Gradients of all segments by target class.

    Args:
        masked_model: the model and its head.
        card: its card.
        examples: the segments.
        masking: "masked" or "unmasked".
        seed: of the masking.
        cls_is_other: whether [CLS] counts among the other tokens.

    Returns:
        measure -> [segment, target, layer, head] in the order of `examples`; NaN where a segment has no token of the class.

    Raises:
        AtlasError: the loss is not finite.
    """
    assert card.mask is not None
    order = {example.record: k for k, example in enumerate(examples)}
    shape = (len(examples), len(TARGETS), card.layers, card.heads)
    found = {measure: np.full(shape, np.nan) for measure in MEASURES}
    batches = list(batch_by_length(examples, GRADIENT_TOKENS))
    for batch in progress(batches, label=f"gradients, {masking}"):
        if masking == "masked":
            pieces = [mask_pieces(e, card.mask, masked_model.vocabulary, seed) for e in batch]
        else:
            pieces = [unmasked(e) for e in batch]
        maps, slopes = attention_gradients(masked_model, batch, pieces, card.pad or 0)
        for measure, values in _by_class(maps, slopes, batch, pieces, card, cls_is_other).items():
            found[measure][[order[e.record] for e in batch]] = values
    return found


def attention_gradients(
    masked_model: MaskedModel, batch: Sequence[Example], pieces: Sequence[Masked], pad: int
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Attention maps and the derivatives of the summed loss by them, a tensor [batch, head, n, n] a layer, padded.

    One backward pass gives all layers.

    Raises:
        AtlasError: the loss is not finite.
    """
    model = masked_model.model
    inputs = model_inputs(model, batch, pad)
    targets = torch.full_like(inputs["input_ids"], -100)
    for row, one in enumerate(pieces):
        n = len(one.input_ids)
        inputs["input_ids"][row, :n] = torch.from_numpy(one.input_ids)
        targets[row, :n] = torch.from_numpy(np.where(one.chosen, one.targets, -100))
    maps: dict[int, torch.Tensor] = {}

    def keep(site: Site, probabilities: torch.Tensor) -> None:
        if site.site_kind == ENCODER_SELF:
            maps[site.layer] = probabilities

    # Weights are frozen; one that comes before all attention makes the passes keep what derivatives need.
    first = model.get_input_embeddings().weight
    first.requires_grad_(True)
    try:
        with watch(model, observers=[keep]) as session:
            session.batch(inputs["attention_mask"])
            loss = masked_model.loss(inputs, targets)
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
    pieces: Sequence[Masked],
    card: ModelCard,
    cls_is_other: bool,
) -> dict[str, Floats]:
    """measure -> [batch, target, layer, head]."""
    columns, everywhere, predicted = _classes(batch, pieces, card, cls_is_other)
    device = maps[0].device
    sizes = columns.sum(axis=-1)  # [batch, target]
    found: dict[str, list[npt.NDArray[np.float32]]] = {measure: [] for measure in MEASURES}
    for number, (a, slope) in enumerate(zip(maps, slopes, strict=True)):
        # What a query of the last layer gathers goes to that query's own prediction alone.
        rows = predicted if number == len(maps) - 1 else everywhere
        magnitude = slope.abs().float()
        by_class = {}
        for name, values in (("gradient", magnitude), ("product", magnitude * a.float())):
            received = torch.einsum("bi,bhij->bhj", torch.from_numpy(rows).to(device), values)
            by_class[name] = torch.einsum("bcj,bhj->bch", torch.from_numpy(columns).to(device), received).cpu().numpy()
        queries = rows.sum(axis=-1)[:, None, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            found["per_weight"].append(by_class["gradient"] / (queries * sizes[..., None]))
            found["per_query"].append(np.where(sizes[..., None] > 0, by_class["gradient"] / queries, np.nan))
            found["gradient_x_attention"].append(by_class["product"] / (queries * sizes[..., None]))
    return {measure: np.stack(layers, axis=2) for measure, layers in found.items()}


def _classes(
    batch: Sequence[Example], pieces: Sequence[Masked], card: ModelCard, cls_is_other: bool
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Tokens of each class [batch, target, n], all real tokens [batch, n] and those predicted [batch, n], as 0 and 1."""
    longest = max(len(e.input_ids) for e in batch)
    columns = np.zeros((len(batch), len(TARGETS), longest), np.float32)
    everywhere, predicted = np.zeros((2, len(batch), longest), np.float32)
    for row, (example, one) in enumerate(zip(batch, pieces, strict=True)):
        n = len(example.input_ids)
        own = token_classes(example.tokens, card.cls, card.sep)
        # By name, a special token that is neither [CLS] nor [SEP] would be another token.
        special = np.asarray(example.word) == SPECIAL
        other = ~(own.sep | own.punct | (own.cls if not cls_is_other else np.zeros(n, bool)))
        columns[row, :, :n] = np.stack([own.sep & special, own.punct & ~special, other])
        everywhere[row, :n] = 1
        predicted[row, :n] = one.chosen
    return columns, everywhere, predicted


def _frame(values: Floats, masking: str, measure: str, resamples: int, seed: int) -> pd.DataFrame:
    """Means over segments with intervals, a row a target and head."""
    frames = [mean_rows(values[:, number], resamples, seed).assign(target=target) for number, target in enumerate(TARGETS)]
    table = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
    return table.assign(masking=masking, measure=measure)[list(COLUMNS[:-1])]


def variants_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over the heads of a layer, and how large the gradient to [SEP] is beside that to other tokens."""
    keys = ["masking", "measure", "layer"]
    means = (
        frame.groupby([*keys, "target"], sort=False)["value"].mean()
        if len(frame)
        else frame.set_index([*keys, "target"])["value"]
    )
    wide = means.unstack("target").reindex(columns=list(TARGETS)).astype(float).reset_index()
    wide["sep_to_other"] = wide["sep"] / wide["other"]
    order = {name: k for k, name in enumerate((*MASKINGS, *MEASURES))}
    return wide.sort_values(keys, key=lambda c: c.map(order) if c.name != "layer" else c, ignore_index=True)
