"""Scores of heads beside those of random weights: sinks, norm-weighted attention, repeated random tokens, copying.

The null distribution comes from heads of randomly initialised models of the same architecture. Their scores depend only on
architecture, vocabulary and inputs: models with the same files, or fine-tuned from one model, share them. Each reads a few of
the inputs, and short inputs have larger shares: a share is therefore divided by that of uniform attention on the inputs read.

A block of m random tokens is repeated: [CLS] A B C ... A B C ... [SEP]. The token at q in the second half first occurs at
q - m, and an induction head attends from q to the token after that occurrence, q - m + 1 (Elhage et al. 2021, A Mathematical
Framework for Transformer Circuits, section "Induction heads"; Olsson et al. 2022, In-context Learning and Induction Heads,
prefix matching). In an encoder each half can attend to the other. The length of the block varies between sequences, so that a
head that always attends a fixed number of tokens back reaches the other occurrence for one length only.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from attention_atlas.atlas.head_measures import ONE_SIDED
from attention_atlas.attention.cache import widened
from attention_atlas.attention.engine import install, self_attention
from attention_atlas.attention.plans import DECODER_SELF
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import head_rows, independent_units, mean_rows
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import each_example
from attention_atlas.models.head_weights import norm_weighted, value_norms, value_outputs
from attention_atlas.models.loading import configuration, initialised, load_model, locate, text_part
from attention_atlas.stats.significance import COLUMNS as NULL_COLUMNS
from attention_atlas.stats.significance import against_null

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
Maps = npt.NDArray[np.floating]
"""[layer, head, n, n], row = query token."""
COLUMNS = ("measure", "layer", "head", "value", "ci_low", "ci_high", "n", *NULL_COLUMNS, "even_share", "note")
SINK, NORM_SINK, OV_COPYING = "sink", "norm_sink", "ov_copying"
SHORTEST, LONGEST = 8, 24
"""Minimum and maximum number of tokens in a block."""
_UNUSED = re.compile(r"^(\[unused\d+\]|<unused\d+>|<extra_id_\d+>|madeupword\d+)$", re.IGNORECASE)


@dataclass(frozen=True)
class Draws:
    """Settings of the scores, see the schema; `resamples` of inputs, `seed` of inputs, random weights and resamples."""

    inputs: int
    random_models: int
    random_inputs: int
    resamples: int
    seed: int


@dataclass(frozen=True)
class Repeated:
    """A block of random tokens and its repetition: the input, the position of the first block, from 0, and its length."""

    example: Example
    start: int
    length: int


@dataclass(frozen=True)
class Inputs:
    """Sentences of the corpus and sequences of repeated random tokens, both shortest first; id of the padding token."""

    sentences: Sequence[Example]
    sequences: Sequence[Repeated]
    pad: int

    def part(self, number: int, size: int) -> Inputs:
        """About `size` sentences and sequences, of all lengths: every k-th, from an offset."""
        steps = [max(len(items) // size, 1) for items in (self.sentences, self.sequences)]
        sentences, sequences = (slice(number % step, None, step) for step in steps)
        return replace(self, sentences=self.sentences[sentences], sequences=self.sequences[sequences])


ModelTokenizer = Annotated[Tokenizer, Tokenizer.from_file]


def random_scores(
    model: Mapping[str, Any],
    card: Card,
    tokenizer: ModelTokenizer,
    examples: Examples,
    settings: Mapping[str, int],
    resamples: int,
    seed: int,
) -> dict[str, dict[str, Floats]]:
    """Measure -> [random model, layer, head]: scores of randomly initialised models of an architecture on some inputs, divided
    by those of uniform attention on the same inputs (not for models with a window, see `_is_windowed`).
    """
    draws = Draws(**settings, resamples=resamples, seed=seed)
    inputs = draw_inputs(card, tokenizer, examples, draws)
    windowed = _is_windowed(model, inputs)
    scores: list[dict[str, Floats]] = []
    for number, entry in enumerate(progress(random_entries(model, draws), label="models with random weights")):
        part = inputs.part(number, draws.random_inputs)
        values = scores_of(entry, part)
        even = {} if windowed else even_scores(part, "next_token" not in values)
        scores.append({name: mean_over_inputs(of_inputs) / even.get(name, 1.0) for name, of_inputs in values.items()})
    return {"scores": {measure: np.stack([of_model[measure] for of_model in scores]) for measure in scores[0]}}


def head_scores(
    model: Mapping[str, Any],
    card: Card,
    tokenizer: ModelTokenizer,
    examples: Examples,
    null: Mapping[str, Floats],
    settings: Mapping[str, int],
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """One row per measure and head, columns `COLUMNS`.

    value: mean over sentences or sequences, with a bootstrap interval and their number n; copying is computed from weights and
    has neither. null_low, null_high, p, q: see `against_null`; the draws are the heads of all layers of all random models
    (`null`, of `random_scores`), times the uniform share. even_share: value under uniform attention, of measures that are based
    on attention. note: why a measure has no value.
    """
    draws = Draws(**settings, resamples=resamples, seed=seed)
    inputs = draw_inputs(card, tokenizer, examples, draws)
    notes: dict[str, str] = {}
    scores = scores_of(model, inputs, notes)
    if null.keys() != scores.keys():
        different = ", ".join(sorted(null.keys() ^ scores.keys()))
        raise AtlasError(
            f"models with random weights and {card.name} have different measures ({different}): delete the files "
            "random_scores.safetensors of the run and start again."
        )
    even = {} if _is_windowed(model, inputs) else even_scores(inputs, "next_token" not in scores)
    tables = [
        score_rows(measure, values, null[measure].ravel() * even.get(measure, 1.0), inputs, draws).assign(
            even_share=even.get(measure, np.nan), note=notes.get(measure, "")
        )
        for measure, values in scores.items()
    ]
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)].astype({"n": "Int64"})


def random_entries(entry: Mapping[str, Any], draws: Draws) -> list[dict[str, Any]]:
    """Registry entries of randomly initialised models of the same architecture, with different seeds."""
    seeds = np.random.SeedSequence(draws.seed).generate_state(draws.random_models)
    return [{**entry, "init": "random", "seed": int(seed)} for seed in seeds]


def draw_inputs(card: ModelCard, tokenizer: Tokenizer, examples: Sequence[Example], draws: Draws) -> Inputs:
    """The first sentences of a random permutation, and sequences of random tokens."""
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
    return Inputs(sentences, sorted(sequences, key=lambda sequence: sequence.length), card.pad or 0)


def scores_of(entry: Mapping[str, Any], inputs: Inputs, notes: dict[str, str] | None = None) -> dict[str, Floats]:
    """Measure -> [input, layer, head] of the model of a registry entry; copying, which needs no input, is [1, layer, head].

    NaN if copying or norm-weighted attention cannot be computed; `notes` is filled with the reasons, by measure.
    """
    model, unembedding = _opened(entry)
    causal = self_attention(model)[0] == DECODER_SELF
    reasons = {} if notes is None else notes
    norms, reason = value_norms(model)
    if norms is None:
        reasons[NORM_SINK] = reason
    values: dict[str, dict[int, Floats]] = {}

    def keep(example: Example, measures: Mapping[str, Floats]) -> None:
        for measure, of_heads in measures.items():
            values.setdefault(measure, {})[example.record] = of_heads

    observe = None if norms is None else norms.observer
    for example, maps in each_example(model, inputs.sentences, inputs.pad, reuse_memory=True, values=observe):
        weights = widened(maps)
        of_weights = sink_share(weights, example)
        weighted = np.full(of_weights.shape, np.nan)
        if norms is not None:
            weighted = sink_share(norm_weighted(weights, norms.take(example)), example)
        keep(example, {SINK: of_weights, NORM_SINK: weighted})
    by_record = {sequence.example.record: sequence for sequence in inputs.sequences}
    repeated = [sequence.example for sequence in inputs.sequences]
    for example, maps in each_example(model, repeated, inputs.pad, reuse_memory=True):
        keep(example, repetition_measures(widened(maps), by_record[example.record], causal))
    stacked = {measure: np.stack([of[record] for record in sorted(of)]) for measure, of in values.items()}
    return {**stacked, OV_COPYING: _copying_of(model, unembedding, reasons)[None]}


def even_scores(inputs: Inputs, causal: bool) -> dict[str, float]:
    """Measure -> its value under uniform attention over all tokens that a token can attend to, mean over inputs."""
    sinks = [float(sink_share(even_map(len(one.input_ids), causal), one)[0, 0]) for one in inputs.sentences]
    shares = [repetition_measures(even_map(len(one.example.input_ids), causal), one, causal) for one in inputs.sequences]
    of_sequences = {name: np.array([float(share[name][0, 0]) for share in shares]) for name in shares[0]}
    values = {SINK: np.array(sinks), NORM_SINK: np.array(sinks), **of_sequences}
    return {measure: float(mean_over_inputs(of_inputs)) for measure, of_inputs in values.items()}


def even_map(n: int, causal: bool) -> Floats:
    """[1, 1, n, n] uniform attention over all tokens, or over the token and those before it if causal."""
    seen = np.tril(np.ones((n, n))) if causal else np.ones((n, n))
    return (seen / seen.sum(axis=1, keepdims=True))[None, None]


def _is_windowed(entry: Mapping[str, Any], inputs: Inputs) -> bool:
    """Whether some layers attend to a window that is shorter than the longest input: there uniform attention is not that over
    all tokens.
    """
    longest = max(len(example.input_ids) for example in (*inputs.sentences, *(s.example for s in inputs.sequences)))
    settings = configuration(locate(entry)).get_text_config()
    windows = (getattr(settings, name, None) for name in ("sliding_window", "attention_chunk_size"))
    return any(window is not None and window < longest for window in windows)


def mean_over_inputs(values: Floats) -> Floats:
    """[...] mean of [input, ...] over the inputs that have a value; NaN if none has one."""
    with np.errstate(invalid="ignore"):
        return np.nansum(values, axis=0) / (~np.isnan(values)).sum(axis=0)


def score_rows(measure: str, values: Floats, null: Floats, inputs: Inputs, draws: Draws) -> pd.DataFrame:
    """One row per head: measure, layer, head, value, ci_low, ci_high, n, and the columns of `against_null`.

    values: [input, layer, head], may all be NaN; null: [draw] values of heads of random models.
    """
    no_null = dict.fromkeys(NULL_COLUMNS, np.nan)
    if np.isnan(values).all():
        absent = dict.fromkeys(["ci_low", "ci_high", "n"], np.nan)
        return head_rows(np.full(values.shape[1:], np.nan), "value").assign(measure=measure, **absent, **no_null)
    units = None
    if measure in (SINK, NORM_SINK):
        documents = [example.document for example in sorted(inputs.sentences, key=lambda example: example.record)]
        units = independent_units(documents, "sentences")
    rows = mean_rows(values, draws.resamples, draws.seed, units).assign(measure=measure)
    if measure == OV_COPYING:
        # Weights are not a sample: no interval.
        rows[["ci_low", "ci_high", "n"]] = np.nan
    # No such pair of tokens may occur in the inputs that random models read.
    if np.isnan(null).all():
        return rows.assign(**no_null)
    return pd.concat([rows, against_null(rows["value"], null, greater=ONE_SIDED[measure])], axis=1)


# --- measures of maps -------------------------------------------------------------------------------------------------


def sink_share(maps: Maps, example: Example) -> Floats:
    """[layer, head] mean share of a word's attention that goes to sinks.

    The first token is the sink of decoders (Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks, section
    3.1), [CLS] and [SEP] are those of encoders: words are all other tokens. NaN without words.
    """
    sinks = np.asarray(example.word) == SPECIAL
    sinks[0] = True
    if sinks.all():
        return np.full(maps.shape[:2], np.nan)
    return np.asarray(maps[:, :, ~sinks][..., sinks].sum(axis=-1, dtype=np.float64).mean(axis=-1))


def repetition_measures(maps: Maps, sequence: Repeated, causal: bool) -> dict[str, Floats]:
    """Measure -> [layer, head] mean attention weight from tokens of the blocks to one position.

    `duplicate_token`: the other occurrence of the same token; `induction`: the token after it. A causal model is measured on
    its second block only, where it has seen the other occurrence. Attention to the first token of a text, a sink, is ignored.
    """
    first = np.arange(sequence.length) + sequence.start
    second = first + sequence.length
    blocks = np.concatenate([first, second])
    # Pairs with the key in the other block; encoders attend in both directions.
    queries, occurrences = (second, first) if causal else (blocks, np.concatenate([second, first]))

    def share(query: npt.NDArray[np.intp], key: npt.NDArray[np.intp]) -> Floats:
        inside = (key >= max(blocks[0], 1)) & (key <= blocks[-1])
        return np.asarray(maps[..., query[inside], key[inside]].mean(axis=-1, dtype=np.float64))

    measures = {
        "previous_token": share(blocks, blocks - 1),
        "duplicate_token": share(queries, occurrences),
        "induction": share(queries, occurrences + 1),
    }
    return measures if causal else measures | {"next_token": share(blocks, blocks + 1)}


# --- inputs -----------------------------------------------------------------------------------------------------------


def ordinary_pieces(vocabulary: Mapping[str, int], special: frozenset[int]) -> list[int]:
    """Ids of ordinary tokens: neither special nor unused."""
    return sorted(number for piece, number in vocabulary.items() if number not in special and not _UNUSED.match(piece))


def repeated_sequences(
    pieces: Sequence[int], before: Sequence[int], after: Sequence[int], max_tokens: int, count: int, seed: int
) -> list[Repeated]:
    """Sequences with a repeated block of `SHORTEST` to `LONGEST` distinct random tokens, or as many as fit.

    pieces: ids to draw from; before, after: ids of the special tokens at the start and end of a text.
    """
    longest = min(LONGEST, (max_tokens - len(before) - len(after)) // 2)
    if longest < SHORTEST:
        raise AtlasError(
            f"max_tokens: a block of {SHORTEST} word pieces does not fit twice into the model's longest input, "
            f"{max_tokens} word pieces; use another model."
        )
    generator = np.random.default_rng(seed)
    sequences = []
    for number in range(count):
        length = int(generator.integers(SHORTEST, longest + 1))
        block = [int(piece) for piece in generator.choice(np.asarray(pieces), length, replace=False)]
        ids = (*before, *block, *block, *after)
        word = (*[SPECIAL] * len(before), *range(2 * length), *[SPECIAL] * len(after))
        tokens = tuple(str(piece) for piece in ids)
        words = tokens[len(before) : len(before) + 2 * length]
        example = Example(number, f"random {number}", ids, (0,) * len(ids), tokens, word, words)
        sequences.append(Repeated(example, len(before), length))
    return sequences


# --- copying by the weights -------------------------------------------------------------------------------------------


def copying_scores(value: torch.Tensor, output: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
    """[head] sum of the real parts of the eigenvalues of W_U W_O W_V W_E over the sum of their absolute values.

    1 if all eigenvalues are positive: attending to a token makes the same token more likely (copying). -1 if all are
    negative, and about 0 for weights without a preference; NaN if all are 0. The nonzero eigenvalues of this [token, token]
    matrix are those of W_V (W_E W_U) W_O [size, size]. Biases and layer norms are left out, as in the source (Elhage et al.
    2021, A Mathematical Framework for Transformer Circuits, section "Detecting copying behavior").

    value: [head, size, hidden] W_V; output: [head, hidden, size] W_O; product: [hidden, hidden] W_E W_U, float32.
    """
    eigenvalues = torch.linalg.eigvals((value @ product @ output).double())
    return eigenvalues.real.sum(-1) / eigenvalues.abs().sum(-1)


def _copying_of(model: PreTrainedModel, unembedding: torch.Tensor | None, reasons: dict[str, str]) -> Floats:
    """[layer, head]; NaN, with the reason, without an unembedding [token, hidden] or known projections."""
    embedding = model.get_input_embeddings().weight
    try:
        weights = value_outputs(model)
        reason = "" if unembedding is not None else "no output embeddings read what its layers write"
        if embedding.shape[1] != weights[0][0].shape[-1]:
            reason = "its embeddings are of another width than its layers"
    except AtlasError as error:
        weights, reason = [], str(error)
    if reason or unembedding is None:
        _log.info("no copying by weights: %s", reason)
        reasons[OV_COPYING] = reason
        return np.full(self_attention(model)[1:], np.nan)
    with torch.inference_mode():
        product = embedding.float().T @ unembedding.float()
        return torch.stack([copying_scores(*layer, product) for layer in weights]).cpu().double().numpy()


def _opened(entry: Mapping[str, Any]) -> tuple[PreTrainedModel, torch.Tensor | None]:
    """The part of a model that reads text, with the attention engine installed, and its unembedding [token, hidden] or None.

    With tied embeddings the unembedding is the input embedding. Layer norms and the transformation before the unembedding of a
    masked-LM head are ignored.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING

    settings, device = configuration(locate(entry)), pick_device()
    if settings.is_encoder_decoder or getattr(settings, "tie_word_embeddings", True):
        model = load_model(entry, device)
        # An encoder-decoder predicts tokens from its decoder's states.
        return model, None if settings.is_encoder_decoder else model.get_input_embeddings().weight
    kind = AutoModelForMaskedLM if type(settings) in MODEL_FOR_MASKED_LM_MAPPING else AutoModelForCausalLM
    with_head, missing = initialised(kind, entry)
    layer = with_head.get_output_embeddings()
    name = next((name for name, module in with_head.named_modules() if module is layer), None)
    unembedding = None if layer is None or f"{name}.weight" in missing else layer.weight.to(device)
    model = text_part(with_head.base_model)
    install(model)
    return model.to(device).eval(), unembedding
