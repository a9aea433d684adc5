"""Claims of Clark et al. (2019) on order and thresholds, and its main conclusions, tested on the model of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.dependency_scoring import ALL, DEPENDENT_TO_HEAD, DIRECTIONS, Gold, Scores
from attention_atlas.methods.head_tables import UNIT_COLUMNS, Units, interval_of_mean
from attention_atlas.methods.options import Options
from attention_atlas.models.card import TRAINED_HERE, weak_predictor
from attention_atlas.published.compare import NO, QUALITATIVE, Claim, Measured, all_hold
from attention_atlas.stats.held_out import Bools, Resampling, best_head, choosing_half
from attention_atlas.stats.intervals import LEVEL, level_of_parts
from attention_atlas.stats.significance import p_in_words
from attention_atlas.studies.clark2019.probe_scores import ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS, RANDOM

BROAD_ENTROPY = 3.8
"""Entropy in nats over which a head is broad (authors' notebook)."""
SMALL_GRADIENT = 0.1
"""The paper says very small: a tenth of the largest layer mean is our threshold."""
MOSTLY = 50
"""Percentage of the attention of words without its relation that a head puts on [SEP]: the paper says mostly, of one head."""
POSITIONAL = 0.5
"""Share of attention on a neighbour above which the paper counts a head."""
_NEIGHBOUR = "some heads put over half of their attention on the {} token", "Strongest head, {chosen}"
_SURFACE: dict[str, tuple[Any, ...]] = {
    "txt_prev_heads": ("previous", *_NEIGHBOUR, "mean attention of the strongest head", POSITIONAL, True),
    "txt_next_heads": ("next", *_NEIGHBOUR, "mean attention of the strongest head", POSITIONAL, True),
    "txt_sep_6_10": (
        *("middle_sep", "over half of the attention in layers {place} goes to [SEP]", "Mean over heads and segments"),
        *("share of attention on [SEP]", 0.5, True),
    ),
    "txt_sep_sep": (
        *("sep_sep", "[SEP] puts over 90 % of its attention on [SEP] in some layer", "Strongest layer, {chosen}"),
        *("attention from [SEP] to [SEP]", 0.9, True),
    ),
    "txt_high_entropy_max": (
        *("broad_median", f"heads of an entropy over {BROAD_ENTROPY} nats typically put at most 10 % on any one token"),
        *("Broad heads, {chosen}", "median over broad heads of the mean largest weight of a row", 0.1, False),
    ),
}
"""Published value -> statistic of `surface.claim_statistics`, claim, our side, statistic in words, threshold, whether above."""
OVERALL = 50
"""Accuracy in % over all words below which no head does well overall: our threshold, the paper compares 34.5 with 26.3."""
COREFERENCE_GAIN = 10
"""Percentage points by which the paper's head beats head match; ours is also close to the rules if it is as many below."""
OVER_75 = ("dobj", "det", "pobj", "poss")
"""Relations whose best heads are right in over 75 %, as the paper says in its introduction."""
_INTERVAL = ("ci_low", "ci_high", "level", "n", *UNIT_COLUMNS)
"""Bootstrap over units, widened where they are few (`expanded_level`); level: coverage, so that those of all rows of `OVER_75`
hold together; n: items of the tested half."""
_PROBES = {
    DISTANCES_WORDS: "distances and word vectors",
    RANDOM: "randomly initialised attention and word vectors",
    ATTENTION: "attention alone",
}
_ALIGNMENTS = {"legacy": "as published", "fixed": "with ROOT aligned"}


def first_late_layer(layers: int) -> int:
    """Layer 5 of 12, from which on the paper calls the gradient very small; the same share of another depth, rounded up."""
    return math.ceil(5 * layers / 12)


def middle_layers(layers: int) -> tuple[int, int]:
    """Layers 6 to 10 of 12 as a slice, in proportion for a model of another depth."""
    return round(6 / 12 * layers) - 1, round(10 / 12 * layers)


def relation_claims_frame(scores: Scores, gold: Gold, options: Options, resampling: Resampling) -> pd.DataFrame:
    """Accuracy of the best heads of `OVER_75` and of all words, chosen on one half of the documents, on the other half."""
    choosing = choosing_half(gold.units.count, resampling.seed)[gold.units.of_item]
    levels = _levels(gold)
    rows = []
    for relation in (*levels, ALL):
        right, of_relation = scores.of(relation)[0], gold.tokens_of(relation, options)
        tested = of_relation & ~choosing
        _, layer, head = best_head(right[of_relation].sum(axis=0))
        values = np.full(len(gold), np.nan)
        if (of_relation & choosing).any():
            values = right[:, *best_head(right[of_relation & choosing].sum(axis=0))].astype(np.float64)
        row = heldout_mean(values, tested, gold.units, resampling, levels.get(relation, LEVEL))
        rows.append({"relation": relation, "place": f"{layer + 1}-{head + 1}"} | row)
    return pd.DataFrame(rows, columns=["relation", "place", "value", *_INTERVAL])


def _levels(gold: Gold) -> dict[str, float]:
    """Relations of `OVER_75` in the treebank, and the coverage of the interval of each."""
    present = [relation for relation in OVER_75 if (gold.relation == relation).any()]
    return dict.fromkeys(present, level_of_parts(max(len(present), 1)))


def heldout_mean(
    values: npt.NDArray[np.float64], tested: Bools, units: Units, resampling: Resampling, level: float = LEVEL
) -> dict[str, Any]:
    """Mean over the tested items of values [item], NaN where nothing was chosen, and `_INTERVAL`."""
    drawn = units.at(tested)
    row: dict[str, Any] = {"level": level, "n": int(tested.sum()), "unit": drawn.name, "units": drawn.count}
    if tested.any() and not np.isnan(values).any():
        row |= {"value": values[tested].mean()} | interval_of_mean(values[tested], drawn, resampling, level)
    return row


def noop_frame(to_sep: npt.NDArray[np.float32], scores: Scores, gold: Gold, resampling: Resampling) -> pd.DataFrame:
    """Mean attention to [SEP] (section 3.2) of the best heads of `OVER_75`, chosen on one half of documents, on the other half:
    value: from words to which the relation does not apply; applying: from those to which it does. No rows without [SEP].
    """
    choosing = choosing_half(gold.units.count, resampling.seed)[gold.units.of_item]
    rows = []
    for relation, level in _levels(gold).items() if to_sep.any() else ():
        of_relation = gold.relation == relation
        is_chosen = (of_relation & choosing).any()
        direction, layer, head = best_head(scores.heads[of_relation & choosing].sum(axis=0))
        applies = of_relation
        if DIRECTIONS[direction] != DEPENDENT_TO_HEAD:
            # The words that attend are then the heads of the dependents.
            tokens = np.arange(len(gold))
            applies = np.isin(tokens, (tokens - gold.position + gold.head)[of_relation & (gold.head > 0)])
        values = to_sep[:, layer, head].astype(np.float64) if is_chosen else np.full(len(gold), np.nan)
        row = {"relation": relation} | heldout_mean(values, ~applies & ~choosing, gold.units, resampling, level)
        if "value" in row and (applies & ~choosing).any():
            row["applying"] = values[applies & ~choosing].mean()
        rows.append(row)
    return pd.DataFrame(rows, columns=["relation", "value", "applying", *_INTERVAL])


class Tested(NamedTuple):
    """A claim of the paper, and the model and corpus that it is tested on.

    identifier: of the published value that states it; empty for a sentence without a number, which `place` (section and table)
    locates; shown: our side in the unit of the published value, None where the statistic has this unit.
    """

    claim: Claim
    label: RunLabel
    identifier: str = ""
    place: str = ""
    shown: Any = None


def claims(frames: Mapping[str, pd.DataFrame], labels: Mapping[str, RunLabel]) -> Iterator[Tested]:
    """The tests of all claims, in the order of the paper's sections."""
    for claim in relation_claims(frames["dependency_claims"]) if "dependency_claims" in frames else ():
        yield Tested(claim, labels["dependencies"], "txt_75pct")
    for identifier, claim in surface_claims(frames["surface_claims"]):
        yield Tested(claim, labels["segments"], identifier, shown=_layers_shown(identifier, frames["surface"]))
    if "gradient_claims" in frames:
        for claim in gradient_claims(frames["gradient_claims"], frames["gradients"]):
            yield Tested(claim, labels["segments"], "txt_grad_layer", shown=first_small_layer(frames["gradient_claims"]))
    for role, place, test, *names in (
        ("dependencies", "Section 3.2", noop_claims, "dependency_noop"),
        ("dependencies", "Section 4.2", syntax_claims, "dependencies", "dependency_claims"),
        ("coreference", "Section 4.3", coreference_claims, "coreference_claims"),
        ("dependencies", "Section 5", lead_claims, "table3_leads"),
        ("dependencies", "issue17_gain", gain_claims, "table3_gains"),
        ("segments", "Section 6", layer_claims, "clustering_test"),
    ):
        for claim in test(*(frames[name] for name in names)) if set(names) <= set(frames) else ():
            in_words = place.startswith("Section")
            yield Tested(claim, labels[role], "" if in_words else place, place if in_words else "")


def measured_claim(tested: Tested) -> Measured:
    """A claim as our side of a published value: the statistic with its interval, or what is `shown` in the published unit."""
    claim, label = tested.claim, tested.label
    words = f"claim, tested on {label.model} on {label.corpus}: {claim.statement}. {claim.ours}"
    if pd.isna(claim.value):
        return Measured(None, NO, words)
    side = "above" if claim.above else "below"
    low, high = (None if pd.isna(end) else float(end) for end in (claim.ci_low, claim.ci_high))
    interval = f"{100 * claim.level:.4g} % interval over {claim.n} {claim.unit}"
    if tested.shown is None:
        why = f"{words}. Statistic: {claim.statistic}; must lie {side} {claim.threshold:g}; {interval}"
        return Measured(float(claim.value), QUALITATIVE, why, low, high, claim.n, claimed=claim.verdict)
    ends = "" if low is None or high is None else f" ({low:.4g} to {high:.4g}: {interval})"
    why = (
        f"{words}. Statistic: {claim.statistic}, {claim.value:.4g}{ends}; must lie {side} {claim.threshold:g}. "
        "The verdict is on this statistic; the layers themselves are not tested"
    )
    return Measured(tested.shown, QUALITATIVE, why, claimed=claim.verdict)


def claim_of(
    row: pd.Series, statement: str, ours: str, statistic: str, threshold: float, above: bool, percent: bool = False
) -> Claim:
    """The claim that a row of a table tests: value, ci_low, ci_high, unit, units, level; percent: from shares, in %."""
    value, low, high = (float(100 * row[name] if percent else row[name]) for name in ("value", "ci_low", "ci_high"))
    level = float(row.get("level", LEVEL))
    return Claim(statement, ours, statistic, value, low, high, int(row["units"]), str(row["unit"]), threshold, above, level)


def surface_claims(table: pd.DataFrame) -> Iterator[tuple[str, Claim]]:
    """Claims of sections 3.1 to 3.3, from `surface.claim_statistics`."""
    rows = table.fillna({"place": ""}).set_index("claim")
    for identifier, (name, statement, ours, *test) in _SURFACE.items():
        if name not in rows.index:
            continue
        row, place = rows.loc[name], rows.loc[name, "place"]
        ours = ours.format(chosen=f"chosen on the other half of the {row['unit']} (on all of them: {place})")
        ours = ours if place else f"No head has an entropy over {BROAD_ENTROPY}"
        yield identifier, claim_of(row, statement.format(name, place=place), ours, *test)


def _layers_shown(identifier: str, surface: pd.DataFrame) -> Any:
    """The layers of the heads with over half of their attention on a neighbour, one for each head, as the paper lists them."""
    measure = _SURFACE[identifier][0]
    if measure not in ("previous", "next"):
        return None
    heads = surface[(surface["measure"] == measure) & (surface["value"] > POSITIONAL)]
    return sorted(int(layer) for layer in heads["layer"]) or "no layer"


def gradient_claims(table: pd.DataFrame, gradients: pd.DataFrame) -> Iterator[Claim]:
    """The claim of section 3.2 on Figure 3: from layer 5 of 12 on, or the same share of another depth, [SEP] hardly changes
    the loss. Where the workflow trained the masked-LM head of the `gradients`, it is named; it is not tested with a head that
    hardly predicts (`weak_predictor`).
    """
    if table.empty:
        return
    head = str(gradients["mlm_head"].iloc[0])
    statistic = "mean gradient to [SEP] in layer {} over the largest layer mean"
    statistic += f", with a masked-LM {head}" if TRAINED_HERE in head else ""
    weak = weak_predictor(head)
    rows = table.assign(value=table["ratio"], **({"ci_low": np.nan, "ci_high": np.nan} if weak else {})).iterrows()
    parts = [claim_of(row, "", "", statistic.format(row["layer"]), SMALL_GRADIENT, False) for _, row in rows]
    statement = (
        f"in layers {table['layer'].min()} to {table['layer'].max()} the gradient of attention to [SEP] is very small: less "
        "than a tenth (our threshold) of its largest layer mean"
    )
    ratios = f"Ratios {', '.join(f'{ratio:.2f}' for ratio in table['ratio'])}"
    yield all_hold(statement, f"{ratios}. {weak}" if weak else ratios, parts)


def first_small_layer(table: pd.DataFrame) -> str:
    """The layer from which on all ratios lie below `SMALL_GRADIENT`, in words; layers before those of the table may, too."""
    layers = table.sort_values("layer")
    large = layers.loc[layers["ratio"] >= SMALL_GRADIENT, "layer"]
    if large.empty:
        return f"{layers['layer'].min()} or earlier"
    return "no layer" if large.max() == layers["layer"].max() else str(large.max() + 1)


def relation_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """The claim of section 1 on four relations, tested on heads chosen on the other half of the documents."""
    table = table[table["relation"] != ALL]
    if table.empty:
        return
    parts = [
        claim_of(row, "", "", f"held-out accuracy of the best head of {row['relation']} in %", 75, True, percent=True)
        for _, row in table.iterrows()
    ]
    statement = f"the best heads for {', '.join(table['relation'])} have an accuracy above 75 %"
    accuracies = ", ".join(f"{100 * value:.1f}" for value in table["value"])
    ours = f"Heads chosen on the other half of the {table['unit'].iloc[0]}: {accuracies} %"
    yield all_hold(statement, ours, parts)


def noop_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """The claim of section 3.2 on heads whose function does not apply, from `syntax.noop_frame`."""
    if table.empty:
        return
    statistic = "attention to [SEP] of the best head of {}, from words without the relation, in %"
    rows = (row for _, row in table.iterrows())
    parts = [claim_of(row, "", "", statistic.format(row["relation"]), MOSTLY, True, percent=True) for row in rows]
    shares = ", ".join(f"{row.relation} {100 * row.value:.1f} ({100 * row.applying:.1f})" for row in table.itertuples())
    statement = (
        "where their function does not apply, heads mostly attend to [SEP]: in the best heads for "
        f"{', '.join(table['relation'])}, words without the relation put over {MOSTLY} % (our threshold) of their attention "
        "on it"
    )
    half = f"Heads chosen on the other half of the {table['unit'].iloc[0]}"
    yield all_hold(statement, f"{half}; % of attention, in brackets from words with the relation: {shares}", parts)


def syntax_claims(relations: pd.DataFrame, table: pd.DataFrame) -> Iterator[Claim]:
    """Claims of section 4.2, from `relations_frame` and `relation_claims_frame`: heads specialise, and none does well overall.

    The tests of all relations hold together (Holm), so that the share of relations whose head is better lies between that of
    the relations where it is significantly better, and 1 less that of the relations where the offset is.
    """
    tested = relations[(relations["relation"] != ALL) & relations["tested_margin"].notna()]
    if len(tested):
        significant = tested["p_holm"] < 1 - LEVEL
        better, worse = (significant & (sign * tested["tested_margin"] > 0) for sign in (1, -1))
        ours = (
            f"Head and offset chosen on the other half of the {tested['unit'].iloc[0]}: the head is significantly better in "
            f"{better.sum()} of {len(tested)} relations, the offset in {worse.sum()} (permutation test, Holm)"
        )
        statement = "in most relations the best head beats the best fixed offset"
        statistic = "share of relations whose head beats the offset (interval: from those with a significant difference)"
        shares = (float((tested["tested_margin"] > 0).mean()), float(better.mean()), float(1 - worse.mean()))
        yield Claim(statement, ours, statistic, *shares, len(tested), "relations", threshold=0.5)
    for _, row in table[table["relation"] == ALL].iterrows():
        offset = relations.loc[relations["relation"] == ALL, "baseline_accuracy"]
        beside = f"; best fixed offset: {100 * offset.iloc[0]:.1f} %" if len(offset) else ""
        ours = f"Head chosen on the other half of the {row['unit']} (on all of them: {row['place']}){beside}"
        statement = f"no single head does well at syntax overall: the best is right for less than {OVERALL} % (our threshold)"
        statistic = "held-out accuracy of the best head on all words in %"
        yield claim_of(row, statement, ours, statistic, OVERALL, False, percent=True)


def coreference_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Claims of section 4.3, from `coreference.claims_frame`."""
    close = f"one head performs close to the four sieves: at most {COREFERENCE_GAIN} percentage points below (our threshold)"
    better = f"one head improves on matching head words by over {COREFERENCE_GAIN} percentage points"
    rows = table.set_index("baseline")
    for name, statement, title, threshold in (
        ("head_match", better, "the nearest mention with the same head word", COREFERENCE_GAIN),
        ("rule_based", close, "the four sieves", -COREFERENCE_GAIN),
    ):
        row = rows.loc[name]
        ours = f"Head chosen on the other half of the {row['unit']} (on all of them: {row['place']})"
        if pd.notna(row["value"]):
            ours += f": {100 * row['head_accuracy']:.1f} %, {title}: {100 * row['baseline_accuracy']:.1f} %"
        statistic = f"accuracy of the best head minus that of {title}, percentage points"
        yield claim_of(row, statement, ours, statistic, threshold, True, percent=True)


def lead_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Claims of section 5, from `probe_scores.probe_leads`: the probe on attention and words beats all others of Table 3."""
    leads = table.set_index(["over", "root_alignment"])
    for (over, name), (alignment, words) in product(_PROBES.items(), _ALIGNMENTS.items()):
        if (over, alignment) not in leads.index:
            continue
        row = leads.loc[(over, alignment)]
        other = next(key for key in _ALIGNMENTS if key != alignment)
        lead = 100 * leads.loc[(over, other), "value"]
        ours = f"Mean over {row['seeds']} seeds; {_ALIGNMENTS[other]} the lead is {lead:.1f} percentage points"
        statement = f"{words}, the probe on attention and word vectors beats {name}"
        claim = claim_of(row, statement, ours, "lead in UAS, percentage points", 0, True, percent=True)
        yield replace(claim, of_paper=alignment == "legacy")


def gain_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """The claim of issue 17 of the published code: aligning ROOT raises the accuracy of the probe with words."""
    for _, row in table[table["probe"] == ATTENTION_WORDS].iterrows():
        statement = "aligning ROOT raises the UAS of the probe on attention and words"
        ours = f"UAS with ROOT aligned minus UAS as published, mean over {row['seeds']} seeds"
        claim = claim_of(row, statement, ours, "gain in UAS, percentage points", 0, True, percent=True)
        yield replace(claim, of_paper=False)


def layer_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """The claim of section 6 that heads of one layer are similar; undecided unless shuffled labels seldom differ as much."""
    # The interval is of these heads over documents: without an effect of layers, it excludes 0 on one side or the other.
    rows = table.set_index("quantity")
    p, within, between = (rows.loc[name, "value"] for name in ("permutation_p", "within_layer", "between_layers"))
    statement = "heads of one layer are more similar than heads of different layers"
    permuted = f"permutation of layer labels: p {p_in_words(p, rows.loc['smallest_p', 'value'])}"
    ours = f"Within a layer {within:.3f}, between layers {between:.3f} nats per token; {permuted}"
    statistic = "mean Jensen-Shannon divergence between layers minus that within a layer, nats per token"
    claim = claim_of(rows.loc["difference"], statement, ours, statistic, 0, True)
    yield replace(claim, is_significant=bool(p < 1 - LEVEL))
