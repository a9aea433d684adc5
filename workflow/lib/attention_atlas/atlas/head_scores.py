"""Scores of heads compared with random weights: sinks, patterns, repeated random tokens, and copying by the weights.

The null distribution comes from heads of randomly initialised models of the same architecture on the same inputs, since their
behaviour is not learnt. These models differ in their seeds. Their scores depend only on architecture, vocabulary and inputs, so
models with the same files, or fine-tuned from the same model, share them. Shares of attention are also compared with uniform
attention.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from attention_atlas.atlas.head_measures import Pattern, parse_patterns
from attention_atlas.atlas.head_properties import (
    SEP,
    SINK,
    Repeated,
    copying_scores,
    norm_weighted,
    ordinary_pieces,
    pattern_pairs,
    pattern_share,
    repeated_sequences,
    repetition_measures,
    sentence_measures,
)
from attention_atlas.attention.engine import DECODER_SELF, install, self_attention
from attention_atlas.attention.words import widened
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import head_rows, independent_units, mean_rows
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import each_example
from attention_atlas.models.head_weights import ValueNorms, value_outputs
from attention_atlas.models.loading import configuration, in_evaluation, initialised, load_model, locate, text_part
from attention_atlas.stats.significance import COLUMNS as NULL_COLUMNS
from attention_atlas.stats.significance import against_null

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
COLUMNS = (
    *("measure", "layer", "head", "value", "ci_low", "ci_high", "n", *NULL_COLUMNS, "random_models"),
    *("rank", "even_share", "note", "pattern"),
)
Floats = npt.NDArray[np.float64]
OV_COPYING = "ov_copying"
CONSTANT = "0 for every head by construction: no token can attend there"
NORM_WEIGHTED = {SINK: "norm_sink", SEP: "norm_sep"}
"""Share of attention -> the same by norm-weighted attention. Attention to [SEP] by weights is a measure of Clark et al."""
ON_SENTENCES = (SINK, *NORM_WEIGHTED.values())
"""Measures on sentences of the corpus."""


@dataclass(frozen=True)
class Draws:
    """Settings of the scores, see the schema; `resamples` of inputs, `seed` of inputs, random weights and resamples."""

    inputs: int
    random_models: int
    random_inputs: int
    resamples: int
    seed: int


@dataclass(frozen=True)
class Inputs:
    """Sentences of the corpus and sequences of repeated random tokens, both shortest first; id of the padding token; [SEP].

    `pairs`: measure of a pattern -> record of a sentence -> [n, n] which pairs of tokens the pattern counts.
    """

    sentences: Sequence[Example]
    sequences: Sequence[Repeated]
    pad: int
    sep: str | None = None
    pairs: Mapping[str, Mapping[int, npt.NDArray[np.bool_]]] = field(default_factory=dict)

    def part(self, number: int, size: int) -> Inputs:
        """A systematic sample of about `size` sentences and sequences: every k-th, with an offset that depends on `number`.

        Uniform attention gives 1 / n to each of n tokens, so a sample with other lengths would have another baseline.
        """
        steps = [max(len(items) // size, 1) for items in (self.sentences, self.sequences)]
        sentences, sequences = (slice(number % step, None, step) for step in steps)
        return replace(self, sentences=self.sentences[sentences], sequences=self.sequences[sequences])


def read_tokenizer(path: str) -> Tokenizer:
    return Tokenizer.from_file(path)


ModelTokenizer = Annotated[Tokenizer, read_tokenizer]


def random_scores(
    model: Mapping[str, Any],
    card: Card,
    tokenizer: ModelTokenizer,
    examples: Examples,
    settings: Mapping[str, int],
    patterns: Sequence[str],
    resamples: int,
    seed: int,
) -> dict[str, dict[str, Floats]]:
    """Measure -> [random model, layer, head], float64: the scores of randomly initialised models on some of the inputs.

    model: registry entry of a model with this architecture; settings: see `Draws`; patterns: texts of `head_measures.Pattern`.
    """
    draws, parsed = Draws(**settings, resamples=resamples, seed=seed), parse_patterns(patterns)
    inputs = draw_inputs(card, tokenizer, examples, draws, parsed)
    scores: dict[str, list[Floats]] = {}
    for number, entry in enumerate(progress(random_entries(model, draws), label="models with random weights")):
        for measure, values in scores_of(entry, inputs.part(number, draws.random_inputs)).items():
            scores.setdefault(measure, []).append(mean_over_inputs(values))
        if number == 0:
            even = even_scores(inputs, "next_token" not in scores)
            for pattern in parsed:
                if np.isnan(even[pattern.measure]):
                    raise AtlasError(
                        f"pattern '{pattern.text}': the {len(inputs.sentences)} sentences that heads are scored on have no "
                        "such pair of tokens that the model can see: raise atlas.head_scores.inputs, or name another pattern."
                    )
    return {"scores": {measure: np.stack(values) for measure, values in scores.items()}}


def head_scores(
    model: Mapping[str, Any],
    card: Card,
    tokenizer: ModelTokenizer,
    examples: Examples,
    null: Mapping[str, Floats],
    settings: Mapping[str, int],
    patterns: Sequence[str],
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """One row per measure and head, columns `COLUMNS`.

    value: mean over sentences or sequences, with a bootstrap interval and their number n; copying is computed from weights and
    has neither. null_low, null_high, p, q: see `against_null`; the draws are the heads of all layers of all random models. A
    random model reads only some of the inputs, so its values vary more than those of the model, which makes p conservative.
    rank: rank of the head, 1 for the largest value. even_share: value under uniform attention; empty for measures that are not
    based on attention weights. note: why a measure has no value. pattern: text of a user's pattern.

    null: of `random_scores`, for the same architecture, inputs and patterns; the other arguments as for it.
    """
    draws, parsed = Draws(**settings, resamples=resamples, seed=seed), parse_patterns(patterns)
    inputs = draw_inputs(card, tokenizer, examples, draws, parsed)
    notes: dict[str, str] = {}
    scores = scores_of(model, inputs, notes)
    if null.keys() != scores.keys():
        different = ", ".join(sorted(null.keys() ^ scores.keys()))
        raise AtlasError(
            f"models with random weights and {card.name} have different measures ({different}): delete the files "
            "random_scores.safetensors of the run and start again."
        )
    # In a window, uniform attention is not that over all tokens.
    even = {} if _is_windowed(model, inputs) else even_scores(inputs, "next_token" not in scores)
    # Uniform attention reaches all tokens that any head can reach: not a final [SEP] in a causal model, for example.
    for measure in (name for name, value in even.items() if value == 0):
        for name in {measure, NORM_WEIGHTED.get(measure, measure)} & scores.keys():
            notes[name] = CONSTANT
            scores[name] = np.full_like(scores[name], np.nan)
    texts = {pattern.measure: pattern.text for pattern in parsed}
    tables = [
        score_rows(measure, values, null[measure].ravel(), inputs, draws).assign(
            even_share=even.get(measure, np.nan),
            note=notes.get(measure, ""),
            pattern=texts.get(measure, ""),
        )
        for measure, values in scores.items()
    ]
    table = pd.concat(tables, ignore_index=True).assign(random_models=len(null[SINK]))
    return table[list(COLUMNS)].astype({"n": "Int64", "rank": "Int64"})


def random_entries(entry: Mapping[str, Any], draws: Draws) -> list[dict[str, Any]]:
    """Registry entries of randomly initialised models of the same architecture, with different seeds."""
    seeds = np.random.SeedSequence(draws.seed).generate_state(draws.random_models)
    return [{**entry, "init": "random", "seed": int(seed)} for seed in seeds]


def draw_inputs(
    card: ModelCard, tokenizer: Tokenizer, examples: Sequence[Example], draws: Draws, patterns: Sequence[Pattern] = ()
) -> Inputs:
    """The first sentences of a random permutation with the pairs that patterns count, and sequences of random tokens."""
    if not examples:
        raise AtlasError("the corpus of the atlas has no sentence that the model can read: name another corpus.")
    order = np.random.default_rng(draws.seed).permutation(len(examples))[: draws.inputs]
    sentences = sorted((examples[place] for place in order), key=lambda example: len(example.input_ids))
    special = frozenset(number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special)
    # Some tokenizers pad every input to a fixed length.
    tokenizer.no_padding()
    opened = tokenizer.encode("a")
    places = np.flatnonzero(~np.asarray(opened.special_tokens_mask, dtype=bool))
    before, after = opened.ids[: places[0]], opened.ids[places[-1] + 1 :]
    on_card = {number for number in (card.pad, card.mask) if number is not None}
    pieces = ordinary_pieces(tokenizer.get_vocab(), special.union(before, after, on_card))
    sequences = repeated_sequences(pieces, before, after, card.max_tokens, draws.inputs, draws.seed)
    return Inputs(
        sentences,
        sorted(sequences, key=lambda sequence: sequence.length),
        card.pad or 0,
        card.sep,
        {pattern.measure: pattern_pairs(pattern, sentences) for pattern in patterns},
    )


def scores_of(entry: Mapping[str, Any], inputs: Inputs, notes: dict[str, str] | None = None) -> dict[str, Floats]:
    """Measure -> [input, layer, head] of the model of a registry entry; copying, which needs no input, is [1, layer, head].

    NaN if a measure cannot be computed: copying (see `_copying_of`), and norm-weighted attention of a model whose projections
    are unknown. `notes` is filled with the reasons, by measure.
    """
    model, unembedding = _opened(entry)
    causal = self_attention(model)[0] == DECODER_SELF
    reasons = {} if notes is None else notes
    norms, reason = value_norms(model)
    if norms is None:
        reasons |= dict.fromkeys(NORM_WEIGHTED.values(), reason)
    values: dict[str, dict[int, Floats]] = {}

    def keep(example: Example, measures: Mapping[str, Floats]) -> None:
        for measure, of_heads in measures.items():
            values.setdefault(measure, {})[example.record] = of_heads

    observe = None if norms is None else norms.observer
    for example, maps in each_example(model, inputs.sentences, inputs.pad, reuse_memory=True, values=observe):
        weights = widened(maps)
        measured = _on_sentence(weights, example, inputs, causal)
        weighted = {name: np.full(weights.shape[:2], np.nan) for name in NORM_WEIGHTED if name in measured}
        if norms is not None:
            weighted = sentence_measures(norm_weighted(weights, norms.take(example)), example, inputs.sep)
        measured.pop(SEP, None)
        keep(example, measured | {NORM_WEIGHTED[measure]: of_heads for measure, of_heads in weighted.items()})
    by_record = {sequence.example.record: sequence for sequence in inputs.sequences}
    repeated = [sequence.example for sequence in inputs.sequences]
    for example, maps in each_example(model, repeated, inputs.pad, reuse_memory=True):
        keep(example, repetition_measures(widened(maps), by_record[example.record], causal))
    stacked = {measure: np.stack([of[record] for record in sorted(of)]) for measure, of in values.items()}
    return {**stacked, OV_COPYING: _copying_of(model, unembedding, reasons)[None]}


def _on_sentence(maps: npt.NDArray[np.floating], example: Example, inputs: Inputs, causal: bool) -> dict[str, Floats]:
    shares = {measure: pattern_share(maps, pairs[example.record], causal) for measure, pairs in inputs.pairs.items()}
    return sentence_measures(maps, example, inputs.sep) | shares


def even_scores(inputs: Inputs, causal: bool) -> dict[str, float]:
    """Measure -> its value under uniform attention over all tokens that a token can attend to, mean over inputs."""
    values: dict[str, list[float]] = {}
    even = partial(even_map, causal=causal)
    of_sentences = (_on_sentence(even(len(one.input_ids)), one, inputs, causal) for one in inputs.sentences)
    of_sequences = (repetition_measures(even(len(one.example.input_ids)), one, causal) for one in inputs.sequences)
    for shares in chain(of_sentences, of_sequences):
        for measure, share in shares.items():
            values.setdefault(measure, []).append(float(share[0, 0]))
    return {measure: float(mean_over_inputs(np.asarray(shares))) for measure, shares in values.items()}


def even_map(n: int, causal: bool) -> Floats:
    """[1, 1, n, n] uniform attention over all tokens, or over the token and those before it if causal."""
    seen = np.tril(np.ones((n, n))) if causal else np.ones((n, n))
    return (seen / seen.sum(axis=1, keepdims=True))[None, None]


def _is_windowed(entry: Mapping[str, Any], inputs: Inputs) -> bool:
    """Whether some layers attend to a window that is shorter than the longest input."""
    longest = max(len(example.input_ids) for example in (*inputs.sentences, *(s.example for s in inputs.sequences)))
    settings = configuration(locate(entry)).get_text_config()
    windows = (getattr(settings, name, None) for name in ("sliding_window", "attention_chunk_size"))
    return any(window is not None and window < longest for window in windows)


def mean_over_inputs(values: Floats) -> Floats:
    """[...] mean of [input, ...] over the inputs that have a value; NaN if none has one."""
    count = (~np.isnan(values)).sum(axis=0)
    sums = np.nansum(values, axis=0)
    return np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)


def value_norms(model: PreTrainedModel) -> tuple[ValueNorms | None, str]:
    """Collector of the norms of value vectors, or the reason why the model has none."""
    try:
        return ValueNorms(model), ""
    except AtlasError as error:
        _log.info("no norm-weighted attention: %s", error)
        return None, str(error)


def _copying_of(model: PreTrainedModel, unembedding: torch.Tensor | None, reasons: dict[str, str]) -> Floats:
    """[layer, head]; NaN, with the reason, without an unembedding [token, hidden] or known projections."""
    embedding = _weight(model.get_input_embeddings())
    try:
        weights = value_outputs(model)
        reason = "" if unembedding is not None else "the checkpoint has no output embeddings"
        if embedding.shape[1] != weights[0].value.shape[-1]:
            reason = "its embeddings are of another width than its layers"
    except AtlasError as error:
        weights, reason = [], str(error)
    if reason or unembedding is None:
        _log.info("no copying by weights: %s", reason)
        reasons[OV_COPYING] = reason
        return np.full(self_attention(model)[1:], np.nan)
    with torch.inference_mode():
        product = embedding.float().T @ unembedding.float()
        return torch.stack([copying_scores(layer.value, layer.output, product) for layer in weights]).cpu().double().numpy()


def score_rows(measure: str, values: Floats, null: Floats, inputs: Inputs, draws: Draws) -> pd.DataFrame:
    """One row per head: measure, layer, head, value, ci_low, ci_high, n, rank, and the columns of `against_null`.

    values: [input, layer, head]; if all are NaN, the rows have no value; null: [draw] values of heads of random models.
    """
    if np.isnan(values).all():
        absent = ["value", "ci_low", "ci_high", "n", "rank", *NULL_COLUMNS]
        return head_rows(np.full(values.shape[1:], np.nan), "value").assign(measure=measure, **dict.fromkeys(absent, np.nan))
    units = None
    if measure in ON_SENTENCES or measure in inputs.pairs:
        documents = [example.document for example in sorted(inputs.sentences, key=lambda example: example.record)]
        units = independent_units(documents, "sentences")
    rows = mean_rows(values, draws.resamples, draws.seed, units)
    if measure == OV_COPYING:
        # Weights are not a sample: no interval.
        rows[["ci_low", "ci_high", "n"]] = np.nan
    rows["rank"] = rows["value"].rank(ascending=False, method="min")
    if np.isnan(null).all():
        # No such pair of tokens occurs in the inputs that random models read.
        return rows.assign(measure=measure, **dict.fromkeys(NULL_COLUMNS, np.nan))
    return pd.concat([rows, against_null(rows["value"], null)], axis=1).assign(measure=measure)


def _opened(entry: Mapping[str, Any]) -> tuple[PreTrainedModel, torch.Tensor | None]:
    """The part of a model that reads text, with the attention engine installed, and its unembedding [token, hidden] or None.

    In a model with tied embeddings the unembedding is the input embedding, whether or not its file contains the rest of a
    language-model head. The transformation before the unembedding of a masked-LM head is ignored, as are layer norms.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING

    settings, device = configuration(locate(entry)), pick_device()
    if settings.is_encoder_decoder or getattr(settings, "tie_word_embeddings", True):
        model = load_model(entry, device)
        # An encoder-decoder predicts tokens from its decoder's states.
        return model, None if settings.is_encoder_decoder else _weight(model.get_input_embeddings())
    kind = AutoModelForMaskedLM if type(settings) in MODEL_FOR_MASKED_LM_MAPPING else AutoModelForCausalLM
    with_head, missing = initialised(kind, entry)
    layer = with_head.get_output_embeddings()
    name = next((name for name, module in with_head.named_modules() if module is layer), None)
    unembedding = None if layer is None or f"{name}.weight" in missing else _weight(layer).to(device)
    model = text_part(with_head.base_model)  # type: ignore[arg-type]  # typed as any module in transformers
    install(model)
    return in_evaluation(model, device), unembedding


def _weight(layer: torch.nn.Module) -> torch.Tensor:
    weight = layer.weight
    assert isinstance(weight, torch.Tensor)
    return weight
