"""The first relation of each head by norm-weighted attention, and the effect of masking the head on words of that relation.

The relation is chosen on one half of the documents (`methods.head_relations`); everything here is measured on the other half.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.attention.batch_sizes import LOSS_TOKENS
from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import DECODER_SELF, Plan, self_attention, watch
from attention_atlas.attention.half import widened
from attention_atlas.attention.words import to_words, unit_starts
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.causal_effects import Pair, effect_of, matched_pairs, word_frequencies
from attention_atlas.methods.dependency_scoring import DIRECTIONS, Gold, gather_gold, predicted_words, score
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.head_relations import HEAD_RELATIONS, NONE, testing_half
from attention_atlas.methods.norm_weighted import norm_weighted
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.models.card import ModelCard, read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import each_example
from attention_atlas.models.language_models import LanguageModel, load_language_model
from attention_atlas.models.loading import load_model
from attention_atlas.models.mlm_head import ModelFiles, read_head_facts
from attention_atlas.models.value_norms import ValueNorms
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.stats.simultaneous import corrected_p, enough_draws, exchange_p

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
RELATION_WEIGHTS = (
    *("layer", "head", "relation", "direction", "n", "raw", "raw_low", "raw_high", "norm", "norm_low", "norm_high"),
    *("value", "ci_low", "ci_high", "p", "q", "unit", "units", "note"),
)
CAUSAL_EFFECTS = (
    *("layer", "head", "relation", "direction", "n", "same_part_of_speech", "loss", "relation_change", "relation_low"),
    *("relation_high", "matched_change", "value", "ci_low", "ci_high", "p", "q", "unit", "units", "language_model", "note"),
)
LEVEL = 0.05
_IGNORED = -100


@dataclass(frozen=True)
class Chosen:
    """Numbers of heads, words and resamples for the effects.

    Attributes:
        heads: maximum number of heads, in the order of evidence for their relation on the half on which it was chosen.
        words: maximum number of words of the relation of each head.
        resamples: number of bootstrap resamples of documents (sentences if the corpus names none); minimum of exchanges.
        seed: seed of resamples, exchanges, words, and of the halves of the documents, as for the table of relations.
    """

    heads: int
    words: int
    resamples: int
    seed: int


def write_relation_effects(
    files: ModelFiles,
    example_files: Sequence[str | Path],
    relations_path: str | Path,
    limit: int,
    chosen: Chosen,
    weights_out: str | Path,
    effects_out: str | Path,
    threads: int = 1,
) -> None:
    """Write the accuracy of raw and norm-weighted maps on the first relation of each head, and effects of masking heads.

    Columns `RELATION_WEIGHTS`: raw, norm: accuracy of the head on words of its relation by attention weights and by
    norm-weighted attention; value: norm minus raw, with interval, p by exchanges within units, and q over heads.
    Columns `CAUSAL_EFFECTS`: see `methods.causal_effects`; value: relation_change minus matched_change, in nats; loss: mean
    loss on the words of the relation with all heads; language_model: the language-model head. note: why there is no value.

    Args:
        files: files of the model.
        example_files: sentences with their trees, tokenised for this model.
        relations_path: table of the relations of each head on these sentences, columns `HEAD_RELATIONS`.
        limit: use at most this many records of the corpus.
        chosen: numbers of heads, words and resamples.
        weights_out, effects_out: files to write.
        threads: threads of the forward passes.

    Raises:
        AtlasError: the model or a table cannot be read, or values are not finite.
    """
    torch.set_num_threads(threads)
    card, facts = read_card(files.card), read_head_facts(files.mlm_head_facts)
    corpus = list(read_examples(example_files, limit))
    table = read_table(relations_path, HEAD_RELATIONS)
    first = table[(table["rank"] == 1) & (table["relation"] != NONE)].reset_index(drop=True)
    gold = gather_gold(corpus)
    tested = testing_half(gold.units, chosen.seed)[gold.units.of_item]
    examples = [corpus[number] for number in np.unique(gold.sentence[tested])]
    language_model, what = load_language_model(files.entry, files.mlm_head, facts)
    _log.info("loss by: %s", what)
    bare: Any = load_model(files.entry, pick_device()) if language_model is None else language_model.model.base_model
    write_table(relation_weights(bare, examples, first, card, chosen), weights_out)
    if language_model is None:
        effects = first[[*PLACE, "relation", "direction"]].assign(note=what).reindex(columns=list(CAUSAL_EFFECTS))
    else:
        effects = causal_effects(language_model, examples, first, word_frequencies(corpus), card, chosen)
        effects = effects.assign(language_model=what)
    write_table(effects.reindex(columns=list(CAUSAL_EFFECTS)).astype({"n": "Int64", "units": "Int64"}), effects_out)


# --- accuracy by raw and by norm-weighted attention -------------------------------------------------------------------


def relation_weights(
    model: PreTrainedModel, examples: Sequence[Example], first: pd.DataFrame, card: ModelCard, chosen: Chosen
) -> pd.DataFrame:
    """One row per head with a relation, columns `RELATION_WEIGHTS`.

    Args:
        model: the bare model, with the attention engine installed.
        examples: sentences of the half on which the relations were not chosen.
        first: layer, head, relation and direction of each head.
        card: card of the model.
        chosen: number of resamples, and seed.
    """
    columns = list(RELATION_WEIGHTS)
    rows = first[[*PLACE, "relation", "direction"]].copy()
    if not len(rows):
        return pd.DataFrame(columns=columns)
    gold = gather_gold(examples)
    raw, norm, note = _right_words(model, examples, gold, card.pad or 0)
    heads = (rows["layer"] - 1).to_numpy(), (rows["head"] - 1).to_numpy()
    direction = rows["direction"].map({name: k for k, name in enumerate(DIRECTIONS)}).to_numpy()
    of_relation = (gold.relation[:, None] == rows["relation"].to_numpy(dtype=str)).astype(np.float64)
    right = [None if of is None else of[:, direction, *heads] * of_relation for of in (raw, norm)]
    units = gold.units
    n = units.sums(of_relation)
    rows["n"], rows["unit"], rows["units"] = n.sum(axis=0).astype(int), units.name, (n > 0).sum(axis=0)
    for name, words in zip(("raw", "norm"), right, strict=True):
        if words is not None:
            rows[name], rows[f"{name}_low"], rows[f"{name}_high"] = _ratio(units.sums(words), n, chosen)
    if right[1] is None:
        return rows.assign(note=note).reindex(columns=columns)
    assert right[0] is not None
    differences = units.sums(right[1] - right[0])
    rows["value"], rows["ci_low"], rows["ci_high"] = _ratio(differences, n, chosen)
    draws = max(chosen.resamples, enough_draws(len(rows), LEVEL))
    rows["p"] = exchange_p(differences, draws, chosen.seed)
    rows["q"] = corrected_p(rows["p"], "bh", 1 / (draws + 1), LEVEL)
    return rows.reindex(columns=columns)


def _ratio(sums: Floats, sizes: Floats, chosen: Chosen) -> tuple[Floats, Floats, Floats]:
    """[head] ratio of the sums over all units, and the ends of its interval."""
    total = sizes.sum(axis=0)
    ratio = np.divide(sums.sum(axis=0), total, out=np.full(total.shape, np.nan), where=total > 0)
    return ratio, *bootstrap_ratio(sums, sizes, chosen.resamples, chosen.seed)


def _right_words(
    model: PreTrainedModel, examples: Sequence[Example], gold: Gold, pad: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_] | None, str]:
    """[token, direction, layer, head] correct picks of raw and of norm-weighted attention, and why the latter are None."""
    note, norms = "", None
    try:
        norms = ValueNorms(model)
    except AtlasError as error:
        note = str(error)
        _log.info("no norm-weighted attention: %s", error)
    observe = None if norms is None else norms.observer
    picked: list[dict[int, npt.NDArray[np.int16]]] = [{}, {}]
    for example, maps in each_example(model, examples, pad, reuse_memory=True, values=observe):
        special = np.asarray(example.word)[unit_starts(example.word)] == SPECIAL
        weights = widened(maps)
        picked[0][example.record] = predicted_words(to_words(weights, example.word), special)
        if norms is not None:
            weighted = norm_weighted(weights, norms.take(example))
            picked[1][example.record] = predicted_words(to_words(weighted, example.word), special)
    raw, norm = (
        score(np.concatenate([of[example.record] for example in examples]), gold, AS_PUBLISHED).heads if of else None
        for of in picked
    )
    assert raw is not None
    return raw, norm, note


# --- losses with heads masked -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """A word whose loss is measured: the input, and the tokens to predict.

    Attributes:
        example: input of the model, with the word masked for a masked language model.
        targets: position -> id of the token to predict there.
    """

    example: Example
    targets: Mapping[int, int]


def causal_effects(
    language_model: LanguageModel,
    examples: Sequence[Example],
    first: pd.DataFrame,
    frequencies: Mapping[str, int],
    card: ModelCard,
    chosen: Chosen,
) -> pd.DataFrame:
    """One row per masked head, columns `CAUSAL_EFFECTS` without language_model and note.

    Args:
        language_model: the model with its language-model head.
        examples: sentences of the half on which the relations were not chosen.
        first: layer, head, relation, direction and choice_low of each head.
        frequencies: word counts in the corpus.
        card: card of the model.
        chosen: numbers of heads, words and resamples.

    Raises:
        AtlasError: a loss is not finite.
    """
    causal = self_attention(language_model.model)[0] == DECODER_SELF
    mask = None if causal else card.mask
    probes = {example.record: word_probes(example, mask) for example in examples}
    usable = {record: np.array([probe is not None for probe in words]) for record, words in probes.items()}
    documents = {example.record: example.document for example in examples}
    masked = first.sort_values("choice_low", ascending=False, kind="stable").head(chosen.heads).sort_values(PLACE)
    pairs_of: dict[tuple[int, int], list[Pair]] = {}
    for row in masked.itertuples():
        pairs = matched_pairs(examples, row.relation, row.direction, frequencies, usable, chosen.words, chosen.seed)
        if pairs:
            pairs_of[row.layer, row.head] = pairs

    def losses(words: Sequence[tuple[int, int]], plan: Plan | None = None) -> dict[tuple[int, int], float]:
        return dict(
            zip(words, probe_losses(language_model, [probes[r][w] for r, w in words], card.pad or 0, plan), strict=True)
        )

    whole = losses(_words(pair for pairs in pairs_of.values() for pair in pairs))
    draws = max(chosen.resamples, enough_draws(max(len(pairs_of), 1), LEVEL))
    rows = []
    for (layer, head), pairs in progress(list(pairs_of.items()), label="masked heads"):
        without = losses(_words(pairs), Plan().zero(layer - 1, head - 1))
        relation, matched = (
            np.array([without[pair.record, place] - whole[pair.record, place] for pair, place in _places(pairs, name)])
            for name in ("word", "matched")
        )
        effect = effect_of(pairs, relation, matched, [documents[pair.record] for pair in pairs], draws, chosen.seed)
        loss = float(np.mean([whole[pair.record, pair.word] for pair in pairs]))
        rows.append({"layer": layer, "head": head, "loss": loss, **asdict(effect)})
    if not rows:
        return pd.DataFrame(columns=list(CAUSAL_EFFECTS))
    named = {"relation": "relation_change", "matched": "matched_change", "low": "ci_low", "high": "ci_high"}
    table = pd.DataFrame(rows).rename(columns=named).merge(masked[[*PLACE, "relation", "direction"]], on=PLACE)
    table["q"] = corrected_p(table["p"], "bh", 1 / (draws + 1), LEVEL)
    return table


def word_probes(example: Example, mask: int | None) -> list[Probe | None]:
    """[m] input and targets for each word; None if the model cannot predict the word.

    Args:
        example: the sentence.
        mask: id of [MASK], which replaces the word pieces of the word; None for a causal model, which predicts the token after
            the word, if that token belongs to a word as well.
    """
    word = np.asarray(example.word)
    probes: list[Probe | None] = []
    for number in range(len(example.words)):
        places = np.flatnonzero(word == number).tolist()
        if mask is None:
            last = places[-1] if places else len(word)
            follows = last + 1 < len(word) and word[last + 1] != SPECIAL
            probes.append(Probe(example, {last: example.input_ids[last + 1]}) if follows else None)
            continue
        ids = tuple(mask if place in places else piece for place, piece in enumerate(example.input_ids))
        targets = {place: example.input_ids[place] for place in places}
        probes.append(Probe(replace(example, input_ids=ids), targets) if places else None)
    return probes


def probe_losses(
    language_model: LanguageModel, probes: Sequence[Probe | None], pad: int, plan: Plan | None = None
) -> list[float]:
    """[probe] loss in nats, mean over the tokens to predict.

    Args:
        language_model: the model with its language-model head.
        probes: words; probes of the same input share a forward pass.
        pad: id of the padding token.
        plan: plan that masks heads.

    Raises:
        AtlasError: a loss is not finite.
    """
    rows: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    inputs: dict[tuple[int, tuple[int, ...]], Example] = {}
    for number, probe in enumerate(probes):
        assert probe is not None
        key = probe.example.record, probe.example.input_ids
        inputs[key] = probe.example
        rows.setdefault(key, []).append(number)
    of_row = list(rows.values())
    texts = [replace(example, record=number) for number, example in enumerate(inputs.values())]
    losses = [float("nan")] * len(probes)
    for batch in batch_by_length(texts, LOSS_TOKENS):
        arguments = model_inputs(language_model.model, batch, pad)
        targets = torch.full_like(arguments["input_ids"], _IGNORED)
        places = []
        for row, example in enumerate(batch):
            for number in of_row[example.record]:
                for place, piece in probes[number].targets.items():  # type: ignore[union-attr]  # asserted above
                    targets[row, place] = piece
                    places.append((row, place, number))
        with torch.inference_mode(), watch(language_model.model, plan=plan) as session:
            session.batch(arguments["attention_mask"])
            of_target = language_model.target_losses(arguments, targets).double().cpu().numpy()
        if not np.isfinite(of_target).all():
            raise AtlasError(f"the loss is not finite for a batch with example {batch[0].id}: check the model's weights.")
        # Losses are in the order of rows and positions.
        order = sorted(range(len(places)), key=lambda k: places[k][:2])
        pieces: dict[int, list[float]] = {}
        for k, loss in zip(order, of_target, strict=True):
            pieces.setdefault(places[k][2], []).append(float(loss))
        for number, values in pieces.items():
            losses[number] = float(np.mean(values))
    return losses


def _words(pairs: Any) -> list[tuple[int, int]]:
    """(record, position) of all words of pairs, without duplicates."""
    return list(dict.fromkeys((pair.record, place) for pair in pairs for place in (pair.word, pair.matched)))


def _places(pairs: Sequence[Pair], name: str) -> list[tuple[Pair, int]]:
    return [(pair, getattr(pair, name)) for pair in pairs]
