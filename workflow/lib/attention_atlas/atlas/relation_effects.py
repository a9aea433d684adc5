"""The first relation of each head by norm-weighted attention, and the effect of masking the head on words of that relation.

The relation is chosen on one half of the documents (`methods.head_relations`); everything here is measured on the other half.

A word carries the relation of a head if the head attends from it: the dependent or the head of the relation, depending on the
direction. A masked language model predicts the word itself, masked in its sentence; a causal one predicts the next token.
Masking any head changes the loss a little. Each word of the relation is therefore paired with a word of the same sentence that
does not carry it. The effect is the mean over pairs of the loss change on the first minus that on the second.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.attention.batches import LOSS_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.cache import to_words, unit_starts, widened
from attention_atlas.attention.engine import DECODER_SELF, Plan, self_attention, watch
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods import dependency_scoring as scoring
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD, DIRECTIONS, Gold, gather_gold
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.head_relations import NONE, testing_half
from attention_atlas.methods.head_tables import Units, independent_units
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import each_example
from attention_atlas.models.head_weights import ValueNorms, norm_weighted, value_norms
from attention_atlas.models.language_models import HeadFacts, LanguageModel, load_language_model, read_head_facts
from attention_atlas.models.loading import load_model
from attention_atlas.stats.intervals import bootstrap_ratio, expanded_level
from attention_atlas.stats.significance import LEVEL
from attention_atlas.stats.simultaneous import corrected_p, enough_draws, exchange_p, random_exchanges, two_sided_p

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
RELATION_WEIGHTS = (
    *("layer", "head", "relation", "direction", "n", "norm", "norm_low", "norm_high", "value", "ci_low", "ci_high", "p", "q"),
    *("unit", "units", "note"),
)
CAUSAL_EFFECTS = (
    *("layer", "head", "relation", "direction", "n", "same_part_of_speech", "loss", "relation_change", "relation_low"),
    *("relation_high", "matched_change", "value", "ci_low", "ci_high", "p", "q", "unit", "units", "language_model", "note"),
)
_PUNCTUATION = ("punct", "PUNCT")
_IGNORED = -100


class Chosen(NamedTuple):
    """Maximum number of heads, in the order of evidence for their relation on the half on which it was chosen, and of words of
    the relation of each head; resamples (at least as many exchanges), and seed, also of the halves of the documents.
    """

    heads: int
    words: int
    resamples: int
    seed: int


def relation_effects(
    model: Mapping[str, Any],
    card: Card,
    mlm_head: str,
    mlm_head_facts: Annotated[HeadFacts, read_head_facts],
    examples: Examples,
    relations: pd.DataFrame,
    settings: Mapping[str, int],
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Accuracy of norm-weighted maps on the first relation of each head (`relations`), and effects of masking heads.

    weights, columns `RELATION_WEIGHTS`: norm: accuracy of the head on words of its relation by norm-weighted attention; value:
    norm minus the accuracy by attention weights, with interval, p by exchanges within units, and q over heads. effects, columns
    `CAUSAL_EFFECTS`: value: relation_change minus matched_change, in nats; loss: mean loss on the words of the relation with
    all heads; language_model: the language-model head. note: why there is no value.
    """
    chosen = Chosen(**settings, resamples=resamples, seed=seed)
    first = relations[(relations["rank"] == 1) & (relations["relation"] != NONE)].reset_index(drop=True)
    gold = gather_gold(examples)
    tested = testing_half(gold.units, seed)[gold.units.of_item]
    held_out = [examples[number] for number in np.unique(gold.sentence[tested])]
    language_model, what = load_language_model(model, mlm_head, mlm_head_facts)
    _log.info("loss by: %s", what)
    bare: Any = load_model(model, pick_device()) if language_model is None else language_model.model.base_model
    weights = relation_weights(bare, held_out, first, card, chosen)
    if language_model is None:
        effects = first[[*PLACE, "relation", "direction"]].assign(note=what)
    else:
        frequencies = Counter(word.lower() for example in examples for word in example.words)
        effects = effects_of_masking(language_model, held_out, first, frequencies, card, chosen).assign(language_model=what)
    return {
        "weights": weights,
        "effects": effects.reindex(columns=list(CAUSAL_EFFECTS)).astype({"n": "Int64", "units": "Int64"}),
    }


# --- accuracy by attention weights and by norm-weighted attention -----------------------------------------------------


def relation_weights(
    model: PreTrainedModel, examples: Sequence[Example], first: pd.DataFrame, card: ModelCard, chosen: Chosen
) -> pd.DataFrame:
    """One row per head with a relation (`first`), columns `RELATION_WEIGHTS`; examples of the half on which it was not chosen.

    model: the bare model, with the attention engine installed.
    """
    rows, columns = first[[*PLACE, "relation", "direction"]].copy(), list(RELATION_WEIGHTS)
    if not len(rows):
        return pd.DataFrame(columns=columns)
    gold = gather_gold(examples)
    units = gold.units
    of_relation = (gold.relation[:, None] == rows["relation"].to_numpy(dtype=str)).astype(np.float64)
    n = units.sums(of_relation)
    rows["n"], rows["unit"], rows["units"] = n.sum(axis=0).astype(int), units.name, (n > 0).sum(axis=0)
    norms, note = value_norms(model)
    if norms is None:
        return rows.assign(note=note).reindex(columns=columns)
    right = _right_words(model, examples, gold, card.pad or 0, norms)
    direction = rows["direction"].map({name: k for k, name in enumerate(DIRECTIONS)}).to_numpy()
    heads = (rows["layer"] - 1).to_numpy(), (rows["head"] - 1).to_numpy()
    raw, norm = (of_map[:, direction, *heads] * of_relation for of_map in right)
    rows["norm"], rows["norm_low"], rows["norm_high"] = _ratio(units.sums(norm), n, chosen)
    differences = units.sums(norm - raw)
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
    model: PreTrainedModel, examples: Sequence[Example], gold: Gold, pad: int, norms: ValueNorms
) -> list[npt.NDArray[np.bool_]]:
    """[token, direction, layer, head] correct picks of attention weights, and of norm-weighted attention."""
    picked: dict[int, list[npt.NDArray[np.int16]]] = {}
    for example, maps in each_example(model, examples, pad, reuse_memory=True, values=norms.observer):
        special = np.asarray(example.word)[unit_starts(example.word)] == SPECIAL
        weights = widened(maps)
        both = (weights, norm_weighted(weights, norms.take(example)))
        picked[example.record] = [scoring.predicted_words(to_words(of_map, example.word), special) for of_map in both]
    by_map = zip(*(picked[example.record] for example in examples), strict=True)
    return [scoring.score(np.concatenate(of_map), gold, AS_PUBLISHED).heads for of_map in by_map]


# --- words of a relation and their matches ----------------------------------------------------------------------------


class Pair(NamedTuple):
    """A word that carries a relation and its matched word: positions in their sentence, from 0."""

    record: int
    word: int
    matched: int
    same_part_of_speech: bool


def carriers(example: Example, relation: str, direction: str) -> list[int]:
    """Positions of the words that carry a relation: dependents, or heads of dependents, without duplicates."""
    places = []
    for word, (head, label) in enumerate(zip(example.layers["heads"], example.layers["relations"], strict=True)):
        if label == relation and head > 0:
            places.append(word if direction == DEPENDENT_TO_HEAD else head - 1)
    return sorted(set(places))


def matched_pairs(
    examples: Sequence[Example],
    relation: str,
    direction: str,
    frequencies: Mapping[str, int],
    usable: Mapping[int, Collection[int]],
    most: int,
    seed: int,
) -> list[Pair]:
    """Up to `most` randomly drawn pairs of a relation; words without a possible match are skipped.

    A word is matched with one of the same part of speech if possible, and of the closest frequency in the corpus. frequencies:
    counts of lower-cased words; usable: record -> positions of the words that the model can predict, in order.
    """
    pairs = []
    for example in examples:
        carrying = carriers(example, relation, direction)
        tags = example.layers.get("xpos") or example.layers.get("upos") or ("",) * len(example.words)
        free = [
            place
            for place in usable[example.record]
            if place not in carrying and example.layers["relations"][place] not in _PUNCTUATION
        ]
        for word in carrying:
            if word not in usable[example.record] or not free:
                continue
            alike = [place for place in free if tags[place] and tags[place] == tags[word]]
            often = np.log([frequencies[example.words[place].lower()] for place in alike or free])
            distance = np.abs(often - np.log(frequencies[example.words[word].lower()]))
            # Among equally frequent words, take the nearest in the sentence.
            order = np.lexsort((np.abs(np.asarray(alike or free) - word), np.round(distance, 9)))
            pairs.append(Pair(example.record, word, (alike or free)[order[0]], bool(alike)))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(pairs))[:most])
    return [pairs[place] for place in chosen]


# --- losses with heads masked -----------------------------------------------------------------------------------------


class Probe(NamedTuple):
    """A word whose loss is measured: the model's input (masked for a masked language model), and position -> id to predict."""

    example: Example
    targets: Mapping[int, int]


def effects_of_masking(
    language_model: LanguageModel,
    examples: Sequence[Example],
    first: pd.DataFrame,
    frequencies: Mapping[str, int],
    card: ModelCard,
    chosen: Chosen,
) -> pd.DataFrame:
    """One row per masked head, columns `CAUSAL_EFFECTS` without language_model and note.

    examples, first: as for `relation_weights`, with choice_low; frequencies: counts of lower-cased words in the corpus.
    """
    causal = self_attention(language_model.model)[0] == DECODER_SELF
    probes = {example.record: word_probes(example, None if causal else card.mask) for example in examples}
    documents = {example.record: example.document for example in examples}
    masked = first.sort_values("choice_low", ascending=False, kind="stable").head(chosen.heads).sort_values(PLACE)
    pairs_of: dict[tuple[int, int], list[Pair]] = {}
    for row in masked.itertuples():
        pairs = matched_pairs(examples, row.relation, row.direction, frequencies, probes, chosen.words, chosen.seed)
        if pairs:
            pairs_of[row.layer, row.head] = pairs

    def losses(pairs: Iterable[Pair], plan: Plan | None = None) -> dict[tuple[int, int], float]:
        words = list(dict.fromkeys((pair.record, word) for pair in pairs for word in (pair.word, pair.matched)))
        of_words = probe_losses(language_model, [probes[record][word] for record, word in words], card.pad or 0, plan)
        return dict(zip(words, of_words.tolist(), strict=True))

    whole = losses(pair for pairs in pairs_of.values() for pair in pairs)
    draws = max(chosen.resamples, enough_draws(max(len(pairs_of), 1), LEVEL))
    rows = []
    for (layer, head), pairs in progress(list(pairs_of.items()), label="masked heads"):
        without = losses(pairs, Plan().zero(layer - 1, head - 1))
        change = {word: loss - whole[word] for word, loss in without.items()}
        relation = np.array([change[pair.record, pair.word] for pair in pairs])
        matched = np.array([change[pair.record, pair.matched] for pair in pairs])
        effect = effect_of(pairs, relation, matched, [documents[pair.record] for pair in pairs], draws, chosen.seed)
        loss = float(np.mean([whole[pair.record, pair.word] for pair in pairs]))
        rows.append({"layer": layer, "head": head, "loss": loss, **effect})
    if not rows:
        return pd.DataFrame(columns=list(CAUSAL_EFFECTS))
    table = pd.DataFrame(rows).merge(masked[[*PLACE, "relation", "direction"]], on=PLACE)
    table["q"] = corrected_p(table["p"], "bh", 1 / (draws + 1), LEVEL)
    return table


def word_probes(example: Example, mask: int | None) -> dict[int, Probe]:
    """Word -> input and targets, for the words that the model can predict.

    `mask`: id of [MASK], which replaces the word pieces of the word; None for a causal model, which predicts the token after
    the word, if that token belongs to a word as well.
    """
    word = np.asarray(example.word)
    probes = {}
    for number in range(len(example.words)):
        places = np.flatnonzero(word == number).tolist()
        if not places:
            continue
        if mask is not None:
            ids = tuple(mask if place in places else piece for place, piece in enumerate(example.input_ids))
            probes[number] = Probe(replace(example, input_ids=ids), {place: example.input_ids[place] for place in places})
        elif places[-1] + 1 < len(word) and word[places[-1] + 1] != SPECIAL:
            probes[number] = Probe(example, {places[-1]: example.input_ids[places[-1] + 1]})
    return probes


def probe_losses(language_model: LanguageModel, probes: Sequence[Probe], pad: int, plan: Plan | None = None) -> Floats:
    """[probe] loss in nats, mean over the tokens to predict, with heads masked by a plan; probes of one input share a pass."""
    by_input: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number, probe in enumerate(probes):
        by_input.setdefault((probe.example.record, probe.example.input_ids), []).append(number)
    numbers_of = list(by_input.values())
    texts = [replace(probes[numbers[0]].example, record=record) for record, numbers in enumerate(numbers_of)]
    losses = np.full(len(probes), np.nan)
    for batch in batch_by_length(texts, LOSS_TOKENS):
        arguments = model_inputs(language_model.model, batch, pad)
        targets = torch.full_like(arguments["input_ids"], _IGNORED)
        # Losses are in the order of rows and positions.
        places = sorted(
            (row, place, number)
            for row, example in enumerate(batch)
            for number in numbers_of[example.record]
            for place in probes[number].targets
        )
        for row, place, number in places:
            targets[row, place] = probes[number].targets[place]
        with torch.inference_mode(), watch(language_model.model, plan=plan) as session:
            session.batch(arguments["attention_mask"])
            of_target = language_model.loss(arguments, targets, "none").double().cpu().numpy()
        if not np.isfinite(of_target).all():
            raise AtlasError(f"the loss is not finite for a batch with example {batch[0].id}: check the model's weights.")
        numbers = np.array([number for *_, number in places])
        for number in np.unique(numbers):
            losses[number] = of_target[numbers == number].mean()
    return losses


def effect_of(
    pairs: Sequence[Pair], relation: Floats, matched: Floats, documents: Sequence[str | None], draws: int, seed: int
) -> dict[str, Any]:
    """Columns of `CAUSAL_EFFECTS` of one head: means over pairs, bootstrap intervals over units, p by exchanges.

    Units are documents, or sentences if the corpus names no documents. Intervals over few units are widened.
    relation, matched, documents: [pair] loss change on each of the two words, and document name.
    """
    units = independent_units(documents, "sentences")
    if units.name == "sentences":
        numbers = pd.factorize(np.array([pair.record for pair in pairs]), sort=True)[0].astype(np.intp)
        units = Units(numbers, int(numbers.max()) + 1, "sentences")
    sizes = units.sizes()
    sums = units.sums(np.stack([relation - matched, relation], axis=1))
    low = high = np.full(2, np.nan)
    if units.count > 1:
        low, high = bootstrap_ratio(sums, sizes[:, None], draws, seed, expanded_level(0.95, units.count))
    mean = sums.sum(axis=0) / sizes.sum()
    difference = sums[:, :1]
    exchanged = [difference.sum(axis=0) - 2 * (swap @ difference) for swap in random_exchanges(units.count, draws, seed)]
    return {
        "n": len(pairs),
        "units": units.count,
        "unit": units.name,
        "same_part_of_speech": float(np.mean([pair.same_part_of_speech for pair in pairs])),
        "relation_change": float(mean[1]),
        "relation_low": float(low[1]),
        "relation_high": float(high[1]),
        "matched_change": float(np.mean(matched)),
        "value": float(mean[0]),
        "ci_low": float(low[0]),
        "ci_high": float(high[0]),
        "p": float(two_sided_p(difference.sum(axis=0), np.concatenate(exchanged).T)[0]),
    }
