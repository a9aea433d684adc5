"""The first relation of each head by norm-weighted attention, and the change in loss when heads are masked.

The relation is chosen on one half of the documents (`methods.head_relations`); everything here is measured on the other half.

A word carries the relation of a head if the head attends from it: the dependent or the head of the relation, depending on the
direction. A masked language model predicts the word itself, masked in its sentence; a causal one predicts the next token.
Masking any head changes the loss, and more on some words than on others. Each word of the relation is therefore paired with a
word of the same part of speech that does not carry it; and since words that carry a relation may be more fragile under any
masking, the same difference is measured for placebo heads: heads of the same layer with another relation. The effect is the
mean over pairs of the loss change on the first word minus that on the second, minus the mean of this over the placebo heads.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.attention.batches import LOSS_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.cache import to_words, unit_starts, widened
from attention_atlas.attention.engine import self_attention, watch
from attention_atlas.attention.plans import DECODER_SELF, Plan, Site
from attention_atlas.attention.prefix import outputs_under
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods import dependency_scoring as scoring
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD, DIRECTIONS, Gold, gather_gold
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.head_relations import NONE, above_baseline, testing_half
from attention_atlas.methods.head_tables import Units, head_rows, independent_units, mean_rows
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import each_example
from attention_atlas.models.head_weights import ValueNorms, norm_weighted, value_norms
from attention_atlas.models.language_models import HeadFacts, LanguageModel, load_language_model, read_head_facts
from attention_atlas.models.loading import load_model
from attention_atlas.stats.intervals import Floats, bootstrap_ratio
from attention_atlas.stats.significance import LEVEL
from attention_atlas.stats.simultaneous import corrected_p, enough_draws, exchange_p, mean_deviations

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
RELATION_WEIGHTS = (
    *("layer", "head", "relation", "direction", "n", "norm", "norm_low", "norm_high", "value", "ci_low", "ci_high", "p", "q"),
    *("unit", "units", "note"),
)
CAUSAL_EFFECTS = (
    *("layer", "head", "relation", "direction", "n", "unmatched", "loss", "relation_change", "relation_low", "relation_high"),
    *("matched_change", "placebo", "value", "ci_low", "ci_high", "p", "q", "unit", "units", "language_model", "note"),
)
HEAD_ABLATION = (
    *("layer", "head", "loss", "zero", "zero_low", "zero_high", "mean", "mean_low", "mean_high", "n", "unit", "units"),
    *("language_model", "note"),
)
Word = tuple[int, int]
"""A word of the corpus: the record of its sentence, and its place there, from 0."""
_PUNCTUATION = ("punct", "PUNCT")
_IGNORED = -100
_FACTOR, _LEAST = 4, 10
"""Largest ratio of the frequencies of a word and its match; smallest number of pairs of a test."""


class Chosen(NamedTuple):
    """Maximum number of heads with a test, of words of the relation of each, and of placebo heads of each; words on which all
    heads are ablated; resamples (at least as many exchanges), and seed, also of the halves of the documents.
    """

    heads: int
    words: int
    placebos: int
    loss_words: int
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
    """Accuracy of norm-weighted maps on the first relation of each head (`relations`), and changes in loss by masking heads.

    weights, columns `RELATION_WEIGHTS`: norm: accuracy of the head on words of its relation by norm-weighted attention; value:
    norm minus the accuracy by attention weights, with interval, p by exchanges within units, and q over heads. effects, columns
    `CAUSAL_EFFECTS`: see `effects_of_masking`; loss: mean loss on the words of the relation with all heads. ablation, columns
    `HEAD_ABLATION`: see `head_ablation`. language_model: the language-model head; note: why there is no value.
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
        ablation = head_rows(np.full((card.layers, card.heads), what), "note")
    else:
        frequencies = Counter(word.lower() for example in examples for word in example.words)
        effects = effects_of_masking(language_model, held_out, first, frequencies, card, chosen).assign(language_model=what)
        ablation = head_ablation(language_model, held_out, card, chosen).assign(language_model=what)
    return {
        "weights": weights,
        "effects": effects.reindex(columns=CAUSAL_EFFECTS).astype(dict.fromkeys(("n", "unmatched", "units"), "Int64")),
        "ablation": ablation.reindex(columns=HEAD_ABLATION).astype(dict.fromkeys(("n", "units"), "Int64")),
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
    total, differences = np.where(n.sum(axis=0) > 0, n.sum(axis=0), np.nan), units.sums(norm - raw)
    for name, ends, sums in (
        ("norm", ("norm_low", "norm_high"), units.sums(norm)),
        ("value", ("ci_low", "ci_high"), differences),
    ):
        rows[name] = sums.sum(axis=0) / total
        rows[[*ends]] = np.transpose(bootstrap_ratio(sums, n, chosen.resamples, chosen.seed))
    draws = max(chosen.resamples, enough_draws(len(rows), LEVEL))
    rows["p"] = exchange_p(differences, draws, chosen.seed)
    rows["q"] = corrected_p(rows["p"], "bh", 1 / (draws + 1), LEVEL)
    return rows.reindex(columns=columns)


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


def carriers(example: Example, relation: str, direction: str) -> set[int]:
    """Places of the words that carry a relation: dependents, or heads of dependents."""
    arcs = enumerate(zip(example.layers["heads"], example.layers["relations"], strict=True))
    named = [(word, head - 1) for word, (head, label) in arcs if label == relation and head > 0]
    return {arc[direction != DEPENDENT_TO_HEAD] for arc in named}


def matched_pairs(
    examples: Sequence[Example], relation: str, direction: str, usable: Mapping[Word, int], most: int, seed: int
) -> tuple[list[tuple[Word, Word]], int]:
    """Up to `most` random words that carry a relation, each with its match; and how many were dropped because they had none.

    The match does not carry the relation, has the same part of speech and a frequency in the corpus within a factor `_FACTOR`,
    and, of the words not matched yet, the smallest sum of the log ratios of frequencies and of places in the sentence.
    usable: words that the model can predict, and their frequencies.
    """
    carrying: list[tuple[str, Word, list[float]]] = []
    free: dict[str, list[tuple[Word, list[float]]]] = {}
    for example in examples:
        tags = example.layers.get("xpos") or example.layers.get("upos") or ("",) * len(example.words)
        of_relation = carriers(example, relation, direction)
        for place, (tag, label) in enumerate(zip(tags, example.layers["relations"], strict=True)):
            word = (example.record, place)
            facts = [np.log(usable.get(word, 1)), np.log(place + 1)]
            if place in of_relation and word in usable:
                carrying.append((tag, word, facts))
            elif tag and word in usable and label not in _PUNCTUATION:
                free.setdefault(tag, []).append((word, facts))
    pairs: list[tuple[Word, Word]] = []
    unmatched = 0
    for number in np.random.default_rng(seed).permutation(len(carrying)):
        if len(pairs) == most:
            break
        tag, word, facts = carrying[number]
        ratios = np.abs(np.array([of_match for _, of_match in free.get(tag, [])]).reshape(-1, 2) - facts)
        near = np.flatnonzero(ratios[:, 0] <= np.log(_FACTOR) + 1e-9)
        if len(near):
            pairs.append((word, free[tag].pop(near[ratios[near].sum(axis=1).argmin()])[0]))
        else:
            unmatched += 1
    return pairs, unmatched


# --- losses with heads masked -----------------------------------------------------------------------------------------


class Probe(NamedTuple):
    """A word whose loss is measured: the model's input (masked for a masked language model), and position -> id to predict."""

    example: Example
    targets: Mapping[int, int]


def effects_of_masking(
    model: LanguageModel,
    examples: Sequence[Example],
    first: pd.DataFrame,
    counts: Counter[str],
    card: ModelCard,
    chosen: Chosen,
) -> pd.DataFrame:
    """One row per head, columns `CAUSAL_EFFECTS` without language_model: of the first heads that can be tested, confirmed ones
    (`above_baseline`) before others, each by the lower end of its margin on these documents; and of those that cannot.

    examples, first: as for `relation_weights`; counts: of lower-cased words in the corpus.
    """
    probes = word_probes(model, examples, card.mask)
    usable = {word: counts[probe.example.words[word[1]].lower()] for word, probe in probes.items()}
    draws = max(chosen.resamples, enough_draws(min(chosen.heads, len(first)), LEVEL))
    order = first.assign(confirmed=above_baseline(first)).sort_values(["confirmed", "ci_low"], ascending=False, kind="stable")
    rows: list[dict[str, Any]] = []
    for row in progress(order.itertuples(), total=min(chosen.heads, len(first)), label="masked heads"):
        if sum("p" in tested for tested in rows) == chosen.heads:
            break
        pairs, unmatched = matched_pairs(examples, row.relation, row.direction, usable, chosen.words, chosen.seed)
        words = [word for pair in pairs for word in pair]
        units = _units_of(words, examples)
        same = first[(first["layer"] == row.layer) & (first["relation"] == row.relation)]["head"]
        other = np.setdiff1d(np.arange(1, card.heads + 1), same)
        heads = [row.head, *np.random.default_rng([chosen.seed, row.layer, row.head]).permutation(other)[: chosen.placebos]]
        facts = {name: getattr(row, name) for name in (*PLACE, "relation", "direction")}
        facts |= {"n": len(pairs), "unmatched": unmatched, "unit": units.name, "units": units.count}
        if len(pairs) < min(_LEAST, chosen.words) or units.count < 2 or len(heads) < 2:
            rows.append(
                {**facts, "note": "not tested: too few words have a match, or all heads of the layer have the relation"}
            )
            continue
        plans = [Plan().zero(row.layer, head) for head in heads]
        losses = probe_losses(model, [probes[word] for word in words], card.pad or 0, plans)
        changes = (losses[1:] - losses[0]).reshape(len(plans), -1, 2)
        rows.append({**facts, "loss": losses[0, ::2].mean(), **effect_of(changes, units, draws, chosen.seed)})
    table = pd.DataFrame(rows, columns=CAUSAL_EFFECTS).sort_values(PLACE, ignore_index=True)
    tested = table["p"].notna()
    table.loc[tested, "q"] = corrected_p(table.loc[tested, "p"].astype(float), "bh", 1 / (draws + 1), LEVEL)
    return table


def head_ablation(model: LanguageModel, examples: Sequence[Example], card: ModelCard, chosen: Chosen) -> pd.DataFrame:
    """One row for each head, columns `HEAD_ABLATION` without language_model and note.

    loss: mean loss on a draw of words, the same for all heads (of a causal model: on all words of the sentences of these words,
    which share a pass). zero, mean: its change when the output of the head is 0, or its mean over the tokens of the examples,
    which keeps what the head writes everywhere (mean ablation).
    """
    probes = word_probes(model, examples, card.mask)
    inputs = [(word[0], probe.example.input_ids) for word, probe in probes.items()]
    read = {inputs[number] for number in np.random.default_rng(chosen.seed).permutation(len(inputs))[: chosen.loss_words]}
    words = [word for word, of_word in zip(probes, inputs, strict=True) if of_word in read]
    plans = [
        plan
        for layer, outputs in enumerate(mean_outputs(model.model.base_model, examples, card.pad or 0), 1)
        for head in range(1, card.heads + 1)
        for plan in (Plan().zero(layer, head), Plan().constant(layer, outputs, head))
    ]
    losses = probe_losses(model, [probes[word] for word in words], card.pad or 0, plans)
    changes = (losses[1:] - losses[0]).T.reshape(len(words), card.layers, card.heads, 2)
    tables = []
    for number, name in enumerate(("zero", "mean")):
        rows = mean_rows(changes[..., number], chosen.resamples, chosen.seed, _units_of(words, examples))
        tables.append(rows.rename(columns={"value": name, "ci_low": f"{name}_low", "ci_high": f"{name}_high"}))
    return tables[0].merge(tables[1]).assign(loss=losses[0].mean())


def mean_outputs(model: PreTrainedModel, examples: Sequence[Example], pad: int) -> list[torch.Tensor]:
    """[head, size] of each layer: the value-weighted outputs of its heads before W_O, mean over the tokens of all examples."""
    sums: dict[Site, torch.Tensor] = {}
    for batch in batch_by_length(examples):
        inputs, outputs = model_inputs(model, batch, pad), dict[Site, torch.Tensor]()
        with torch.inference_mode(), watch(model, outputs=[outputs.__setitem__]):
            model(**inputs)
        for site, output in outputs.items():
            total = (output.double() * inputs["attention_mask"][..., None, None]).sum(dim=(0, 1))
            sums[site] = sums.get(site, 0) + total
    tokens = sum(len(example.input_ids) for example in examples)
    return [sums[site] / tokens for site in sorted(sums, key=lambda site: site.layer)]


def _units_of(words: Sequence[Word], examples: Sequence[Example]) -> Units:
    """Units of the words: documents, or sentences if the corpus names no documents."""
    numbers = {example.record: number for number, example in enumerate(examples)}
    units = independent_units([example.document for example in examples], "sentences")
    return units.at(np.array([numbers[record] for record, _ in words], dtype=np.intp))


def word_probes(model: LanguageModel, examples: Sequence[Example], mask: int | None) -> dict[Word, Probe]:
    """Input and targets of the words that the model can predict.

    `mask`: id of [MASK], which replaces the word pieces of the word; a causal model predicts the token after the word, if that
    token belongs to a word as well.
    """
    causal, probes = self_attention(model.model)[0] == DECODER_SELF, dict[Word, Probe]()
    for example in examples:
        word = np.asarray(example.word)
        for number in range(len(example.words)):
            places, ids = np.flatnonzero(word == number).tolist(), example.input_ids
            if places and mask is not None and not causal:
                masked = tuple(mask if place in places else piece for place, piece in enumerate(ids))
                targets = {place: ids[place] for place in places}
                probes[example.record, number] = Probe(replace(example, input_ids=masked), targets)
            elif places and places[-1] + 1 < len(word) and word[places[-1] + 1] != SPECIAL:
                probes[example.record, number] = Probe(example, {places[-1]: ids[places[-1] + 1]})
    return probes


def probe_losses(model: LanguageModel, probes: Sequence[Probe], pad: int, plans: Sequence[Plan] = ()) -> Floats:
    """[1 + plan, probe] loss in nats, mean over the tokens to predict: of the unchanged model, then under each plan.

    Probes of one input share a pass.
    """
    by_input: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number, probe in enumerate(probes):
        by_input.setdefault((probe.example.record, probe.example.input_ids), []).append(number)
    numbers_of = list(by_input.values())
    texts = [replace(probes[numbers[0]].example, record=record) for record, numbers in enumerate(numbers_of)]
    losses = np.zeros((1 + len(plans), len(probes)))
    for batch in batch_by_length(texts, LOSS_TOKENS):
        arguments = model_inputs(model.model, batch, pad)
        targets = torch.full_like(arguments["input_ids"], _IGNORED)
        owners = np.full(targets.shape, -1)
        for row, example in enumerate(batch):
            for number in numbers_of[example.record]:
                for place, piece in probes[number].targets.items():
                    targets[row, place], owners[row, place] = piece, number
        # Losses are in the order of rows and positions.
        numbers = owners[owners >= 0]
        outputs = outputs_under(model.model, arguments, ((plan, None) for plan in plans))
        for of_plan, output in zip(losses, outputs, strict=True):
            of_target = model.loss(output, targets, "none").double().cpu().numpy()
            if not np.isfinite(of_target).all():
                raise AtlasError(f"the loss is not finite for a batch with example {batch[0].id}: check the model's weights.")
            np.add.at(of_plan, numbers, of_target)
    return losses / [len(probe.targets) for probe in probes]


def effect_of(changes: Floats, units: Units, draws: int, seed: int) -> dict[str, float]:
    """Columns of `CAUSAL_EFFECTS` of one head, from loss changes [head, pair, 2]: the head, then placebo heads of its layer,
    each on the words of the relation and on their matches. units: of all words, pair by pair.

    Intervals: bootstrap over units, in which each word counts, wherever its match is. p, one-sided, is the larger of two: that
    the head means more to words of the relation than to their matches (bootstrap), and that this difference is larger than for
    placebo heads: if the heads of a layer are alike, any of them could be the tested one in any unit (random draws of them).
    """
    heads, pairs, _ = changes.shape
    sides = np.array([1.0, -1.0])
    means = changes.mean(axis=1)
    of_head, *of_placebos = means @ sides
    observed = np.array([of_head - np.mean(of_placebos), means[0, 0], of_head])
    beyond = changes[0] - changes[1:].mean(axis=0)
    words = np.stack([beyond * sides, changes[0] * [1.0, 0.0], changes[0] * sides], axis=-1)
    residuals = (words - words.mean(axis=0)).reshape(-1, 3)
    deviations = mean_deviations(units.sums(residuals) * units.count / pairs, draws, seed)
    low, high = observed + np.quantile(deviations, [0.025, 0.975], axis=1)
    by_unit = units.sums((changes * sides).reshape(heads, -1).T)
    picked = np.random.default_rng(seed).integers(heads, size=(draws, units.count))
    null = by_unit[np.arange(units.count), picked].sum(axis=1)
    # Sums that differ by less are equal: they differ by rounding.
    reached = null >= by_unit[:, 0].sum() - 1e-9 * np.abs(by_unit).sum()
    p = (1 + max(reached.sum(), (deviations[2] >= of_head).sum())) / (1 + draws)
    on_relation = {"relation_change": means[0, 0], "relation_low": low[1], "relation_high": high[1]}
    others = {"matched_change": means[0, 1], "placebo": np.mean(of_placebos)}
    effect = {"value": observed[0], "ci_low": low[0], "ci_high": high[0], "p": p}
    return {name: float(number) for name, number in (on_relation | others | effect).items()}
