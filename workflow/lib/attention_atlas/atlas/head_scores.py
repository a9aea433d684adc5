"""Scores of heads compared with random weights: sinks, patterns, repeated random tokens, and copying by the weights.

The null distribution comes from heads of randomly initialised models of the same architecture on the same inputs, since their
behaviour is not learnt. These models differ in their seeds. Their scores depend only on architecture, vocabulary and inputs, so
models with the same files, or fine-tuned from the same model, share them. Shares of attention are also compared with uniform
attention.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from attention_atlas.attention.engine import DECODER_SELF, Plan, Site, install, self_attention, watch
from attention_atlas.attention.half import widened
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import whole_file
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_table
from attention_atlas.methods.attention_sinks import received_share, sink_share, sink_tokens
from attention_atlas.methods.head_tables import head_rows, mean_rows
from attention_atlas.methods.norm_weighted import norm_weighted
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.methods.ov_copying import copying_scores, embedding_product
from attention_atlas.methods.pattern_texts import Pattern, parse_patterns
from attention_atlas.methods.patterns import pattern_pairs, pattern_share
from attention_atlas.methods.repeated_tokens import Repeated, ordinary_pieces, repeated_sequences, repetition_measures
from attention_atlas.methods.surface import entropy_measures, position_measures, target_measures, token_classes
from attention_atlas.methods.units import independent_units
from attention_atlas.models.card import ModelCard, read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import each_example
from attention_atlas.models.loading import configuration, in_evaluation, initialised, load_model, locate, text_part
from attention_atlas.models.projections import value_outputs
from attention_atlas.models.value_norms import ValueNorms
from attention_atlas.stats.pooled_null import COLUMNS as NULL_COLUMNS
from attention_atlas.stats.pooled_null import against_null

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
COLUMNS = (
    *("measure", "layer", "head", "value", "ci_low", "ci_high", "n", *NULL_COLUMNS, "random_models"),
    *("rank", "even_share", "note", "pattern"),
)
Floats = npt.NDArray[np.float64]
_Item = TypeVar("_Item")
OV_COPYING = "ov_copying"
SINK, SEP = "sink", "sep"
CONSTANT = "0 for every head by construction: no token can attend there"
"""Why a measure in `constant_measures` has no value."""
NORM_SINK, NORM_SEP = "norm_sink", "norm_sep"
NORM_WEIGHTED = {SINK: NORM_SINK, SEP: NORM_SEP}
"""Share of attention -> the same share by norm-weighted attention."""
SURFACE = {
    "entropy": "sentence_entropy",
    "entropy_cls": "sentence_entropy_cls",
    "cls": "sentence_to_cls",
    "sep": "sentence_to_sep",
    "punct": "sentence_to_punctuation",
    "next": "sentence_to_next",
    "previous": "sentence_to_previous",
    "current": "sentence_to_itself",
}
"""Measure of `methods.surface` -> its name if it is measured on the sentences that random models also read."""
DISTANCE = "sentence_distance"
ON_SENTENCES = (SINK, SEP, NORM_SINK, NORM_SEP, *SURFACE.values(), DISTANCE)
"""Measures on sentences of the corpus."""


@dataclass(frozen=True)
class Draws:
    """Numbers of inputs, random models and resamples for the scores.

    Attributes:
        inputs: maximum number of sentences of the corpus, and of sequences of random tokens.
        random_models: number of randomly initialised models.
        random_inputs: number of these sentences and sequences that each of them reads.
        resamples: number of bootstrap resamples of inputs.
        seed: seed of sentences, random tokens, random weights and resamples.
    """

    inputs: int
    random_models: int
    random_inputs: int
    resamples: int
    seed: int


@dataclass(frozen=True)
class Inputs:
    """Inputs of the models.

    Attributes:
        sentences: sentences of the corpus, shortest first.
        sequences: sequences of repeated random tokens, shortest first.
        pad: id of the padding token.
        sep: vocabulary entry of [SEP]; None if the model has none.
        pairs: measure of a pattern -> record of a sentence -> [n, n] which pairs of tokens the pattern counts.
        cls: vocabulary entry of [CLS]; None if the model has none.
    """

    sentences: Sequence[Example]
    sequences: Sequence[Repeated]
    pad: int
    sep: str | None = None
    pairs: Mapping[str, Mapping[int, npt.NDArray[np.bool_]]] = field(default_factory=dict)
    cls: str | None = None

    def part(self, number: int, size: int) -> Inputs:
        """A systematic sample of about `size` sentences and sequences: every k-th, with an offset that depends on `number`.

        Uniform attention gives 1 / n to each of n tokens, so a sample with other lengths would have another baseline.
        """
        return replace(self, sentences=_every(self.sentences, number, size), sequences=_every(self.sequences, number, size))


@dataclass(frozen=True)
class InputFiles:
    """Files and settings that the inputs of a model follow from.

    Attributes:
        card, tokenizer: card and tokenizer of the model.
        examples: sentences, tokenised for this model.
        limit: use at most this many records of the corpus.
        draws: numbers of inputs, random models and resamples.
        patterns: texts of patterns, see `pattern_texts`.
    """

    card: str | Path
    tokenizer: str | Path
    examples: Sequence[str | Path]
    limit: int
    draws: Draws
    patterns: Sequence[str] = ()

    def read(self) -> tuple[Inputs, list[Pattern]]:
        """The inputs, with the pairs of tokens that each pattern counts, and the patterns.

        Raises:
            AtlasError: there are no sentences, a repeated block does not fit, or the function of a pattern fails.
        """
        patterns = parse_patterns(self.patterns)
        examples = list(read_examples(self.examples, self.limit))
        tokenizer = Tokenizer.from_file(str(self.tokenizer))
        inputs = draw_inputs(read_card(self.card), tokenizer, examples, self.draws)
        pairs = {pattern.measure: pattern_pairs(pattern, inputs.sentences) for pattern in patterns}
        return replace(inputs, pairs=pairs), patterns


def write_random_scores(model_entry: Mapping[str, Any], files: InputFiles, out: str | Path, threads: int = 1) -> None:
    """Write measure -> [random model, layer, head], float64: the scores of randomly initialised models.

    A random model reads only some of the inputs.

    Args:
        model_entry: registry entry of a model with this architecture.
        files: what its inputs follow from.
        out: safetensors file to write.
        threads: threads of the forward passes.

    Raises:
        AtlasError: the model cannot be built, there are no sentences, a repeated block does not fit, or a pattern cannot be
            used on these sentences.
    """
    torch.set_num_threads(threads)
    inputs, patterns = files.read()
    scores: dict[str, list[Floats]] = {}
    entries = random_entries(model_entry, files.draws)
    for number, entry in enumerate(progress(entries, label="models with random weights")):
        for measure, values in scores_of(entry, inputs.part(number, files.draws.random_inputs)).items():
            scores.setdefault(measure, []).append(mean_over_inputs(values))
        if number == 0:
            _check_pairs(patterns, even_scores(inputs, "next_token" not in scores), len(inputs.sentences))
    with whole_file(out) as part:
        save_file({measure: np.stack(values) for measure, values in scores.items()}, part)


def read_random_scores(path: str | Path) -> dict[str, Floats]:
    """Measure -> [random model, layer, head] from `write_random_scores`.

    Raises:
        AtlasError: the file is missing or damaged.
    """
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise DamagedFile(path, f"not readable scores of models with random weights ({error})") from error


def write_head_scores(
    model_entry: Mapping[str, Any], files: InputFiles, random_scores_path: str | Path, out: str | Path, threads: int = 1
) -> None:
    """Write one row per measure and head, columns `COLUMNS`.

    value: mean over sentences or sequences, with a bootstrap interval and their number n; copying is computed from weights and
    has neither. null_low, null_high, p, q: see `against_null`; the draws are the heads of all layers of all random models. A
    random model reads only some of the inputs, so its values vary more than those of the model, which makes p conservative.
    rank: rank of the head, 1 for the largest value. even_share: value under uniform attention; empty for measures that are not
    based on attention weights. note: why a measure has no value. pattern: text of a user's pattern.

    Args:
        model_entry: registry entry of the model.
        files: what its inputs follow from.
        random_scores_path: from `write_random_scores`, for the same architecture, inputs and patterns.
        out: file to write.
        threads: threads of the forward passes.

    Raises:
        AtlasError: the model cannot be loaded, there are no sentences, a repeated block does not fit, a pattern cannot be used
            on these sentences, or the random models were not scored on the measures of this model.
    """
    torch.set_num_threads(threads)
    inputs, patterns = files.read()
    texts = {pattern.measure: pattern.text for pattern in patterns}
    notes: dict[str, str] = {}
    scores = scores_of(model_entry, inputs, notes)
    null = read_random_scores(random_scores_path)
    if null.keys() != scores.keys():
        different = ", ".join(sorted(null.keys() ^ scores.keys()))
        raise DamagedFile(random_scores_path, f"models with random weights and the model have different measures ({different})")
    even = even_scores(inputs, "next_token" not in scores, _windowed(model_entry, inputs))
    for measure in constant_measures(even):
        notes[measure] = CONSTANT
        scores[measure] = np.full_like(scores[measure], np.nan)
    tables = [
        score_rows(measure, values, null[measure].ravel(), inputs, files.draws).assign(
            even_share=np.broadcast_to(even.get(measure, np.nan), values.shape[2:0:-1]).T.ravel(),
            note=notes.get(measure, ""),
            pattern=texts.get(measure, ""),
        )
        for measure, values in scores.items()
    ]
    table = pd.concat(tables, ignore_index=True).assign(random_models=len(null[SINK]))
    write_table(table[list(COLUMNS)].astype({"n": "Int64", "rank": "Int64"}), out)


def random_entries(entry: Mapping[str, Any], draws: Draws) -> list[dict[str, Any]]:
    """Registry entries of randomly initialised models of the same architecture, with different seeds."""
    seeds = np.random.SeedSequence(draws.seed).generate_state(draws.random_models)
    return [{**entry, "init": "random", "seed": int(seed)} for seed in seeds]


def draw_inputs(card: ModelCard, tokenizer: Tokenizer, examples: Sequence[Example], draws: Draws) -> Inputs:
    """The first sentences of a random permutation, and sequences of random tokens.

    Raises:
        AtlasError: there are no sentences, or a repeated block does not fit.
    """
    if not examples:
        raise AtlasError("the corpus of the atlas has no sentence that the model can read: name another corpus.")
    order = np.random.default_rng(draws.seed).permutation(len(examples))[: draws.inputs]
    special = frozenset(number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special)
    # Some tokenizers pad every input to a fixed length.
    tokenizer.no_padding()
    opened = tokenizer.encode("a")
    places = np.flatnonzero(~np.asarray(opened.special_tokens_mask, dtype=bool))
    before, after = opened.ids[: places[0]], opened.ids[places[-1] + 1 :]
    known = {number for number in (card.pad, card.mask) if number is not None}
    pieces = ordinary_pieces(tokenizer.get_vocab(), special.union(before, after, known))
    sequences = repeated_sequences(pieces, before, after, card.max_tokens, draws.inputs, draws.seed)
    return Inputs(
        sorted((examples[place] for place in order), key=lambda example: len(example.input_ids)),
        sorted(sequences, key=lambda sequence: sequence.length),
        card.pad or 0,
        card.sep,
        cls=card.cls,
    )


def scores_of(entry: Mapping[str, Any], inputs: Inputs, notes: dict[str, str] | None = None) -> dict[str, Floats]:
    """Measure -> [input, layer, head] of a model; copying, which needs no input, is [1, layer, head].

    NaN if a measure cannot be computed: copying (see `copying_of`), and norm-weighted attention of a model whose projections
    are unknown.

    Args:
        entry: registry entry of the model.
        inputs: inputs of the model.
        notes: filled with the reason why a measure has no value, by measure.

    Raises:
        AtlasError: the model cannot be loaded, or gives values that are not finite.
    """
    model, unembedding = _opened(entry)
    causal = self_attention(model)[0] == DECODER_SELF
    reasons = {} if notes is None else notes
    norms = _value_norms(model, reasons)
    values: dict[str, dict[int, Floats]] = {}
    observe = None if norms is None else norms.observer
    for example, maps in each_example(model, inputs.sentences, inputs.pad, reuse_memory=True, values=observe):
        weights = widened(maps)
        for measure, shares in sentence_measures(weights, example, inputs.sep).items():
            values.setdefault(measure, {})[example.record] = shares
        for measure, means in surface_measures(weights, example, inputs.cls, inputs.sep, causal).items():
            values.setdefault(measure, {})[example.record] = means
        for measure, pairs in inputs.pairs.items():
            values.setdefault(measure, {})[example.record] = pattern_share(weights, pairs[example.record], causal)
        weighted = None if norms is None else norm_weighted(weights, norms.take(example))
        for measure, shares in sentence_measures(weighted, example, inputs.sep, weights.shape[:2]).items():
            values.setdefault(NORM_WEIGHTED[measure], {})[example.record] = shares
    by_record = {sequence.example.record: sequence for sequence in inputs.sequences}
    repeated = [sequence.example for sequence in inputs.sequences]
    for example, maps in each_example(model, repeated, inputs.pad, reuse_memory=True):
        for measure, shares in repetition_measures(widened(maps), by_record[example.record], causal).items():
            values.setdefault(measure, {})[example.record] = shares
    stacked = {measure: np.stack([of[record] for record in sorted(of)]) for measure, of in values.items()}
    return {**stacked, OV_COPYING: copying_of(model, unembedding, reasons)[None]}


def sentence_measures(
    maps: npt.NDArray[np.floating] | None, example: Example, sep: str | None, shape: tuple[int, ...] = ()
) -> dict[str, Floats]:
    """Measure -> [layer, head] share of the attention of words that goes to sinks, and to [SEP] if the model has one.

    Args:
        maps: [layer, head, n, n], row = query token; None gives NaN.
        example: the sentence of these maps.
        sep: vocabulary entry of [SEP].
        shape: (layers, heads), for NaN.
    """
    if maps is None:
        return {measure: np.full(shape, np.nan) for measure in (SINK, *([SEP] if sep else []))}
    special = np.asarray(example.word) == SPECIAL
    shares = {SINK: sink_share(maps, special)}
    if sep is not None:
        separators = special & (np.asarray(example.tokens) == sep)
        # A model that starts every text with the same token has a sink there.
        separators[0] = False
        shares[SEP] = received_share(maps, ~sink_tokens(special), separators)
    return shares


def surface_measures(
    maps: npt.NDArray[np.floating], example: Example, cls: str | None, sep: str | None, causal: bool
) -> dict[str, Floats]:
    """Measure -> [layer, head]: those of `SURFACE` with the options as published, and the mean distance of attention.

    Mean distance: sum over i and j of a_ij |i - j| / n, in tokens (Vig and Belinkov 2019, for rows that sum to 1).
    Measures of special tokens that the model lacks are omitted, and in a causal model attention to the next token, and the
    entropy of [CLS], which sees only itself.

    Args:
        maps: [layer, head, n, n], row = query token.
        example: the sentence of these maps.
        cls, sep: vocabulary entries of the special tokens.
        causal: whether a token attends only to itself and earlier tokens.
    """
    classes = token_classes(example.tokens, cls, sep)
    values = {
        name: value
        for measures in (entropy_measures, target_measures, position_measures)
        for name, value in measures(maps, classes, AS_PUBLISHED).items()
    }
    lacking = {"next", "entropy_cls"} if causal else set()
    lacking |= {"cls", "entropy_cls"} if cls is None else set()
    lacking |= {"sep"} if sep is None else set()
    places = np.arange(maps.shape[-1])
    far = np.abs(places[:, None] - places[None, :]).astype(maps.dtype)
    distance = np.einsum("lhqk,qk->lh", maps, far).astype(np.float64) / len(places)
    return {SURFACE[name]: values[name] for name in SURFACE if name not in lacking} | {DISTANCE: distance}


def even_scores(inputs: Inputs, causal: bool, windowed: PreTrainedModel | None = None) -> dict[str, Floats]:
    """Measure -> [layer or 1] its value under uniform attention over all tokens that a token can attend to, mean over inputs.

    Args:
        inputs: inputs of the model.
        causal: whether a token attends only to itself and earlier tokens.
        windowed: a model with layers whose tokens attend to a window; their visible tokens are read from its masks.
    """
    values: dict[str, list[Floats]] = {}
    even = partial(even_map, causal=causal) if windowed is None else partial(_windowed_map, windowed)
    for example in inputs.sentences:
        maps = even(len(example.input_ids))
        shares = sentence_measures(maps, example, inputs.sep)
        shares |= surface_measures(maps, example, inputs.cls, inputs.sep, causal)
        shares |= {measure: pattern_share(maps, pairs[example.record], causal) for measure, pairs in inputs.pairs.items()}
        for measure, share in shares.items():
            values.setdefault(measure, []).append(share[:, 0])
    for sequence in inputs.sequences:
        maps = even(len(sequence.example.input_ids))
        for measure, share in repetition_measures(maps, sequence, causal).items():
            values.setdefault(measure, []).append(share[:, 0])
    return {measure: mean_over_inputs(np.asarray(shares, np.float64)) for measure, shares in values.items()}


def constant_measures(even: Mapping[str, Floats]) -> list[str]:
    """Measures that are 0 for every head by construction, such as attention to a final [SEP] in a causal model.

    Args:
        even: measure -> its value under uniform attention, which reaches all tokens that any head can reach.
    """
    constant = [measure for measure, value in even.items() if (value == 0).all()]
    return [*constant, *(NORM_WEIGHTED[measure] for measure in constant if measure in NORM_WEIGHTED)]


def even_map(n: int, causal: bool) -> Floats:
    """[1, 1, n, n] uniform attention over all tokens, or over the token and those before it if causal."""
    seen = np.ones((n, n))
    if causal:
        seen = np.tril(seen)
    return (seen / seen.sum(axis=1, keepdims=True))[None, None]


def _windowed(entry: Mapping[str, Any], inputs: Inputs) -> PreTrainedModel | None:
    """The model of a registry entry, without weights, if some layers have a window that is shorter than the longest input."""
    longest = max(len(example.input_ids) for example in (*inputs.sentences, *(s.example for s in inputs.sequences)))
    settings = configuration(locate(entry)).get_text_config()
    windows = (getattr(settings, name, None) for name in ("sliding_window", "attention_chunk_size"))
    if not any(window is not None and window < longest for window in windows):
        return None
    model, _ = _opened({**entry, "init": "random"})
    return model


def _windowed_map(model: PreTrainedModel, n: int) -> Floats:
    """[layer, 1, n, n] uniform attention over the tokens that each token can see in each layer."""
    layers = self_attention(model)[1]
    maps: list[Floats] = []
    plan = Plan()
    for layer in range(layers):
        plan = plan.uniform(layer)
    tokens = torch.ones(1, n, dtype=torch.long, device=model.device)

    def keep(_: Site, probabilities: torch.Tensor) -> None:
        maps.append(probabilities[0, :1].cpu().double().numpy())

    with torch.inference_mode(), watch(model, plan=plan, applied=[keep]) as session:
        session.batch(tokens)
        model(input_ids=tokens, attention_mask=tokens)
    return np.stack(maps)


def mean_over_inputs(values: Floats) -> Floats:
    """[...] mean of [input, ...] over the inputs that have a value; NaN if none has one."""
    count = (~np.isnan(values)).sum(axis=0)
    sums = np.nansum(values, axis=0)
    return np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)


def _value_norms(model: PreTrainedModel, reasons: dict[str, str]) -> ValueNorms | None:
    """Collector of the norms of value vectors; None, with the reason, if the model's projections are unknown."""
    try:
        return ValueNorms(model)
    except AtlasError as error:
        _log.info("no norm-weighted attention: %s", error)
        reasons |= dict.fromkeys(NORM_WEIGHTED.values(), str(error))
        return None


def copying_of(model: PreTrainedModel, unembedding: torch.Tensor | None, reasons: dict[str, str] | None = None) -> Floats:
    """[layer, head] copying by the weights; NaN if the model has no unembedding or its projections are unknown.

    Args:
        model: the bare encoder or decoder.
        unembedding: [token, hidden]; None if the model has none.
        reasons: filled with the reason why there is no value.
    """
    _, layers, heads = self_attention(model)
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
        if reasons is not None:
            reasons[OV_COPYING] = reason
        return np.full((layers, heads), np.nan)
    with torch.inference_mode():
        product = embedding_product(embedding, unembedding)
        return torch.stack([copying_scores(layer.value, layer.output, product) for layer in weights]).cpu().double().numpy()


def score_rows(measure: str, values: Floats, null: Floats, inputs: Inputs, draws: Draws) -> pd.DataFrame:
    """One row per head: measure, layer, head, value, ci_low, ci_high, n, rank, and the columns of `against_null`.

    Args:
        measure: name of the measure.
        values: [input, layer, head]; if all are NaN, the rows have no value.
        null: [draw] values of heads of random models.
        inputs: inputs of the models.
        draws: settings of the bootstrap.
    """
    if np.isnan(values).all():
        absent = ["value", "ci_low", "ci_high", "n", "rank", *NULL_COLUMNS]
        return head_rows(np.full(values.shape[1:], np.nan), "value").assign(measure=measure, **dict.fromkeys(absent, np.nan))
    documents = [example.document for example in sorted(inputs.sentences, key=lambda example: example.record)]
    on_sentences = measure in ON_SENTENCES or measure in inputs.pairs
    units = independent_units(documents, "sentences") if on_sentences else None
    rows = mean_rows(values, draws.resamples, draws.seed, units)
    if measure == OV_COPYING:
        # Weights are not a sample: no interval.
        rows[["ci_low", "ci_high", "n"]] = np.nan
    rows["rank"] = rows["value"].rank(ascending=False, method="min")
    if np.isnan(null).all():
        # No such pair of tokens occurs in the inputs that random models read.
        return rows.assign(measure=measure, **dict.fromkeys(NULL_COLUMNS, np.nan))
    return pd.concat([rows, against_null(rows["value"], null)], axis=1).assign(measure=measure)


def _check_pairs(patterns: Iterable[Pattern], even: Mapping[str, Floats], sentences: int) -> None:
    for pattern in patterns:
        if np.isnan(even[pattern.measure]).all():
            raise AtlasError(
                f"pattern '{pattern.text}': the {sentences} sentences that heads are scored on have no such pair of tokens "
                "that the model can see: raise atlas.head_scores.inputs, or name another pattern."
            )


def _every(items: Sequence[_Item], number: int, size: int) -> Sequence[_Item]:
    step = max(len(items) // size, 1)
    return items[number % step :: step]


def _opened(entry: Mapping[str, Any]) -> tuple[PreTrainedModel, torch.Tensor | None]:
    """The part of a model that reads text, with the attention engine installed, and its unembedding [token, hidden] or None.

    In a model with tied embeddings the unembedding is the input embedding, whether or not its file contains the rest of a
    language-model head. The transformation before the unembedding of a masked-LM head is ignored, as are layer norms.
    """
    settings, device = configuration(locate(entry)), pick_device()
    if settings.is_encoder_decoder or getattr(settings, "tie_word_embeddings", True):
        model = load_model(entry, device)
        # An encoder-decoder predicts tokens from its decoder's states.
        return model, None if settings.is_encoder_decoder else _weight(model.get_input_embeddings())
    with_head, missing = _with_vocabulary(entry, settings)
    layer = with_head.get_output_embeddings()
    name = next((name for name, module in with_head.named_modules() if module is layer), None)
    unembedding = None if layer is None or f"{name}.weight" in missing else _weight(layer).to(device)
    model = text_part(with_head.base_model)  # type: ignore[arg-type]  # typed as any module in transformers
    install(model)
    return in_evaluation(model, device), unembedding


def _weight(layer: torch.nn.Module) -> torch.Tensor:
    """Weights of a linear layer; torch types them less precisely."""
    weight = layer.weight
    assert isinstance(weight, torch.Tensor)
    return weight


def _with_vocabulary(entry: Mapping[str, Any], settings: Any) -> tuple[PreTrainedModel, list[str]]:
    """The model with a language-model head: causal if the architecture has no other."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING

    kind = AutoModelForMaskedLM if type(settings) in MODEL_FOR_MASKED_LM_MAPPING else AutoModelForCausalLM
    return initialised(kind, entry)
