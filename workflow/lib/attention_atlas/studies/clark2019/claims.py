"""Claims of Clark et al. (2019) on order and thresholds, tested on the model of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from attention_atlas.io.run_label import RunLabel
from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.methods.trained_head import trained_head
from attention_atlas.published.claims import Claim, all_hold
from attention_atlas.published.compare import NO, QUALITATIVE, Measured
from attention_atlas.studies.clark2019.claim_rows import claim_of, in_percent
from attention_atlas.studies.clark2019.conclusions import coreference_claims, layer_claim, lead_claims, syntax_claims
from attention_atlas.studies.clark2019.probes.names import ATTENTION_WORDS
from attention_atlas.studies.clark2019.sink import special_token_shares
from attention_atlas.studies.clark2019.surface_claims import (
    BROAD_ENTROPY,
    BROAD_MAXIMUM,
    BROAD_MEDIAN,
    MIDDLE_SEP,
    NEXT,
    PREVIOUS,
    SEP_SEP,
)

SMALL_GRADIENT = 0.1
"""The paper says very small: a tenth of the largest layer mean is our threshold."""
POSITIONAL = 0.5
"""Share of attention on a neighbour above which the paper counts a head."""
_SURFACE = {
    "txt_prev_heads": PREVIOUS,
    "txt_next_heads": NEXT,
    "txt_sep_6_10": MIDDLE_SEP,
    "txt_sep_sep": SEP_SEP,
    "txt_high_entropy_max": BROAD_MEDIAN,
}


class Tested(NamedTuple):
    """A claim of the paper and what it is tested on.

    Attributes:
        claim: the test.
        label: model and corpus.
        identifier: of the published value that states it; empty for a sentence without a number, which `place` locates.
        place: section and table of the paper; empty where the published value has it.
        shown: our side in the unit of the published value, where the statistic has another one; None where the units agree.
    """

    claim: Claim
    label: RunLabel
    identifier: str = ""
    place: str = ""
    shown: Any = None


def claims(frames: Mapping[str, pd.DataFrame], labels: Mapping[str, RunLabel]) -> Iterator[Tested]:
    """The tests of all claims, in the order of the paper's sections.

    Args:
        frames: the tables of the run by name.
        labels: role -> model and corpus.
    """
    segments, dependencies = labels["segments"], labels["dependencies"]
    for identifier, claim in relation_claims(frames["dependency_claims"]):
        yield Tested(claim, dependencies, identifier)
    for identifier, claim in surface_claims(frames["surface_claims"], frames["surface"]):
        yield Tested(claim, segments, identifier, shown=_layers_shown(identifier, frames["surface"]))
    if "gradient_claims" in frames:
        table = frames["gradient_claims"]
        for identifier, claim in gradient_claims(table, _masked_lm_head(frames)):
            yield Tested(claim, segments, identifier, shown=first_small_layer(table))
    for claim in syntax_claims(frames["dependencies"], frames["dependency_claims"]):
        yield Tested(claim, dependencies, place="Section 4.2")
    if "coreference_claims" in frames:
        for claim in coreference_claims(frames["coreference_claims"]):
            yield Tested(claim, labels["coreference"], place="Section 4.3")
    if "table3_leads" in frames:
        for claim in lead_claims(frames["table3_leads"]):
            yield Tested(claim, dependencies, place="Section 5")
    if "table3_gains" in frames:
        for identifier, claim in gain_claims(frames["table3_gains"]):
            yield Tested(claim, dependencies, identifier)
    if "clustering_test" in frames:
        yield Tested(layer_claim(frames["clustering_test"]), segments, place="Section 6")


def measured_claim(tested: Tested) -> Measured:
    """A claim as our side of a published value.

    The value is the statistic, with its interval and the number of independent units. Where the published value has another
    unit, ours is given in that unit, without interval and n; the statistic is part of the reason.
    """
    claim, label = tested.claim, tested.label
    words = f"claim, tested on {label.model} on {label.corpus}: {claim.statement}. {claim.ours}"
    if pd.isna(claim.value):
        return Measured(None, NO, words)
    side = "above" if claim.above else "below"
    low, high = (None if pd.isna(end) else float(end) for end in (claim.ci_low, claim.ci_high))
    interval = f"{100 * claim.level:.4g} % interval over {claim.n} {claim.unit}"
    if tested.shown is None:
        why = f"{words}. Statistic: {claim.statistic}; must lie {side} {claim.threshold:g}; {interval}"
        return Measured(float(claim.value), QUALITATIVE, why, low, high, claim.n, claim.holds, claim.is_tested)
    ends = "" if low is None or high is None else f" ({low:.4g} to {high:.4g}: {interval})"
    why = (
        f"{words}. Statistic: {claim.statistic}, {claim.value:.4g}{ends}; must lie {side} {claim.threshold:g}. "
        "The verdict is on this statistic; the layers themselves are not tested"
    )
    return Measured(tested.shown, QUALITATIVE, why, holds=claim.holds, is_tested=claim.is_tested)


def surface_claims(table: pd.DataFrame, surface: pd.DataFrame) -> Iterator[tuple[str, Claim]]:
    """Claims of sections 3.1 to 3.3, from `surface_claims.claim_statistics` and the measures of all heads."""
    rows = table.set_index("claim")
    shares = special_token_shares(surface)
    sink = f". Special tokens by attention, mean over heads from layer 2 on: {shares}" if shares else ""
    for identifier, name in _SURFACE.items():
        if name not in rows.index:
            continue
        row = rows.loc[name]
        place = "" if pd.isna(row["place"]) else str(row["place"])
        chosen = f"chosen on the other half of the {row['unit']} (on all of them: {place})"
        if name in (PREVIOUS, NEXT):
            statement = f"some heads put over half of their attention on the {name} token"
            ours, statistic = f"Strongest head, {chosen}", "mean attention of the strongest head"
            threshold, above = POSITIONAL, True
        elif name == MIDDLE_SEP:
            statement = f"over half of the attention in layers {place} goes to [SEP]"
            ours, statistic, threshold, above = f"Mean over heads and segments{sink}", "share of attention on [SEP]", 0.5, True
        elif name == SEP_SEP:
            statement = "[SEP] puts over 90 % of its attention on [SEP] in some layer"
            ours, statistic, threshold, above = f"Strongest layer, {chosen}{sink}", "attention from [SEP] to [SEP]", 0.9, True
        else:
            statement = f"heads of an entropy over {BROAD_ENTROPY} nats typically put at most 10 % on any one token"
            ours = f"No head has an entropy over {BROAD_ENTROPY}"
            if place:
                largest = rows.loc[BROAD_MAXIMUM]
                ours = (
                    f"Broad heads, {chosen}; largest of them: {100 * largest['value']:.1f} % (on all: head {largest['place']})"
                )
            statistic, threshold, above = "median over broad heads of the mean largest weight of a row", 0.1, False
        yield identifier, claim_of(row, statement, ours, statistic, threshold, above)


def gradient_claims(table: pd.DataFrame, mlm_head: str = "") -> Iterator[tuple[str, Claim]]:
    """The claim of section 3.2 on Figure 3: from layer 5 of 12 on, attention to [SEP] hardly changes the loss.

    In a model of another depth: from the same share of the layers on, rounded up.

    Args:
        table: of `gradients.claims_frame`.
        mlm_head: description of the masked-LM head, if the workflow trained it; empty for the checkpoint's own.
    """
    if table.empty:
        return
    first, last = int(table["layer"].min()), int(table["layer"].max())
    head = f", with a masked-LM {mlm_head}" if mlm_head else ""
    parts = [
        claim_of(
            *(row, "", "", f"mean gradient to [SEP] in layer {row['layer']} over the largest layer mean{head}"),
            *(SMALL_GRADIENT, False),
        )
        for _, row in table.rename(columns={"ratio": "value"}).iterrows()
    ]
    statement = (
        f"in layers {first} to {last} the gradient of attention to [SEP] is very small: less than a tenth (our threshold) of "
        "its largest layer mean"
    )
    ratios = ", ".join(f"{ratio:.2f}" for ratio in table["ratio"])
    yield "txt_grad_layer", all_hold(statement, f"Ratios {ratios}", parts)


def first_small_layer(table: pd.DataFrame) -> str:
    """The layer from which on all ratios of `gradients.claims_frame` lie below `SMALL_GRADIENT`, in words.

    The table starts in layer 5 of 12: a gradient that is small there may be small in earlier layers, too.
    """
    layers = table.sort_values("layer")
    large = layers.loc[layers["ratio"] >= SMALL_GRADIENT, "layer"]
    if large.empty:
        return f"{layers['layer'].min()} or earlier"
    return "no layer" if large.max() == layers["layer"].max() else str(large.max() + 1)


def relation_claims(table: pd.DataFrame) -> Iterator[tuple[str, Claim]]:
    """The claim of section 1 on four relations, tested on heads chosen on the other half of the documents."""
    table = table[table["relation"] != ALL]
    if table.empty:
        return
    parts = [
        claim_of(in_percent(row), "", "", f"held-out accuracy of the best head of {row['relation']} in %", 75, True)
        for _, row in table.iterrows()
    ]
    statement = f"the best heads for {', '.join(table['relation'])} have an accuracy above 75 %"
    accuracies = ", ".join(f"{100 * value:.1f}" for value in table["value"])
    ours = f"Heads chosen on the other half of the {table['unit'].iloc[0]}: {accuracies} %"
    yield "txt_75pct", all_hold(statement, ours, parts)


def gain_claims(table: pd.DataFrame) -> Iterator[tuple[str, Claim]]:
    """The claim of issue 17 of the published code: aligning ROOT raises the accuracy of the probe with words."""
    rows = table[table["probe"] == ATTENTION_WORDS]
    for _, row in rows.iterrows():
        statement = "aligning ROOT raises the UAS of the probe on attention and words"
        ours = f"UAS with ROOT aligned minus UAS as published, mean over {row['seeds']} seeds"
        yield "issue17_gain", claim_of(in_percent(row), statement, ours, "gain in UAS, percentage points", 0, True)


def _layers_shown(identifier: str, surface: pd.DataFrame) -> Any:
    """The layers of the heads with over half of their attention on a neighbour, one for each head, as the paper lists them."""
    measure = _SURFACE[identifier]
    if measure not in (PREVIOUS, NEXT):
        return None
    heads = surface[(surface["measure"] == measure) & (surface["value"] > POSITIONAL)]
    return sorted(int(layer) for layer in heads["layer"]) or "no layer"


def _masked_lm_head(frames: Mapping[str, pd.DataFrame]) -> str:
    """Description of the masked-LM head of Figure 3 if the workflow trained it; otherwise empty."""
    heads = frames["gradients"]["mlm_head"].dropna().astype(str) if "gradients" in frames else pd.Series(dtype=str)
    return heads.iloc[0] if len(heads) and trained_head(heads.iloc[0]) else ""
