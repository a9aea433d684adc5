"""Claims of Clark et al. (2019) on order and thresholds, tested on the model of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from attention_atlas.io.run_label import RunLabel
from attention_atlas.published.claims import LEVEL, Claim, all_hold
from attention_atlas.published.compare import NO, QUALITATIVE, Measured
from attention_atlas.studies.clark2019.surface_claims import (
    BROAD_ENTROPY,
    BROAD_MAXIMUM,
    MIDDLE_SEP,
    NEXT,
    PREVIOUS,
    SEP_SEP,
)

SMALL_GRADIENT = 0.1
_SURFACE = {
    "txt_prev_heads": PREVIOUS,
    "txt_next_heads": NEXT,
    "txt_sep_6_10": MIDDLE_SEP,
    "txt_sep_sep": SEP_SEP,
    "txt_high_entropy_max": BROAD_MAXIMUM,
}


def claims(frames: Mapping[str, pd.DataFrame], labels: Mapping[str, RunLabel]) -> Iterator[tuple[str, Claim, RunLabel]]:
    """Id of the published value, the test of its claim, and the model and corpus it is tested on.

    Args:
        frames: the tables of the run by name.
        labels: role -> model and corpus.
    """
    for identifier, claim in surface_claims(frames["surface_claims"]):
        yield identifier, claim, labels["segments"]
    if "gradient_claims" in frames:
        for identifier, claim in gradient_claims(frames["gradient_claims"]):
            yield identifier, claim, labels["segments"]
    for identifier, claim in relation_claims(frames["dependency_claims"]):
        yield identifier, claim, labels["dependencies"]
    if "table3_gains" in frames:
        for identifier, claim in gain_claims(frames["table3_gains"]):
            yield identifier, claim, labels["dependencies"]


def measured_claim(claim: Claim, label: RunLabel) -> Measured:
    """A claim as our side of a published value: its statistic with the interval, and n independent units."""
    tested = f"claim, tested on {label.model} on {label.corpus}: {claim.statement}. {claim.ours}"
    if pd.isna(claim.value):
        return Measured(None, NO, tested)
    side = "above" if claim.above else "below"
    interval = f"{100 * claim.level:.4g} % interval over {claim.n} {claim.unit}"
    why = f"{tested}. Statistic: {claim.statistic}; must lie {side} {claim.threshold:g}; {interval}"
    low, high = (None if pd.isna(end) else float(end) for end in (claim.ci_low, claim.ci_high))
    return Measured(float(claim.value), QUALITATIVE, why, low, high, claim.n, claim.holds)


def surface_claims(table: pd.DataFrame) -> Iterator[tuple[str, Claim]]:
    """Claims of sections 3.1 to 3.3, from `surface_claims.claim_statistics`."""
    rows = table.set_index("claim")
    for identifier, name in _SURFACE.items():
        if name not in rows.index:
            continue
        row = rows.loc[name]
        place = "" if pd.isna(row["place"]) else str(row["place"])
        chosen = f"chosen on the other half of the {row['unit']} (on all of them: {place})"
        if name in (PREVIOUS, NEXT):
            statement = f"some heads put over half of their attention on the {name} token"
            ours, statistic, threshold, above = f"Strongest head, {chosen}", "mean attention of the strongest head", 0.5, True
        elif name == MIDDLE_SEP:
            statement = f"over half of the attention in layers {place} goes to [SEP]"
            ours, statistic, threshold, above = "Mean over heads and segments", "share of attention on [SEP]", 0.5, True
        elif name == SEP_SEP:
            statement = "[SEP] puts over 90 % of its attention on [SEP] in some layer"
            ours, statistic, threshold, above = f"Strongest layer, {chosen}", "attention from [SEP] to [SEP]", 0.9, True
        else:
            statement = f"heads of an entropy over {BROAD_ENTROPY} nats put on average at most 10 % on any one token"
            ours = f"Broad head with the largest weights, {chosen}" if place else f"No head has an entropy over {BROAD_ENTROPY}"
            statistic, threshold, above = "mean largest weight of a row", 0.1, False
        yield identifier, _claim(row, statement, ours, statistic, threshold, above)


def gradient_claims(table: pd.DataFrame) -> Iterator[tuple[str, Claim]]:
    """The claim of section 3.2 on Figure 3: from layer 5 of 12 on, attention to [SEP] hardly changes the loss.

    In a model of another depth: from the last layer of the first half on.
    """
    if table.empty:
        return
    first, last = int(table["layer"].min()), int(table["layer"].max())
    parts = [
        _claim(
            row, "", "", f"mean gradient to [SEP] in layer {row['layer']} over the largest layer mean", SMALL_GRADIENT, False
        )
        for _, row in table.rename(columns={"ratio": "value"}).iterrows()
    ]
    statement = f"in layers {first} to {last} the gradient of attention to [SEP] is less than a tenth of its largest layer mean"
    ratios = ", ".join(f"{ratio:.2f}" for ratio in table["ratio"])
    yield "txt_grad_layer", all_hold(statement, f"Ratios {ratios}", parts)


def relation_claims(table: pd.DataFrame) -> Iterator[tuple[str, Claim]]:
    """The claim of section 1 on four relations, tested on heads chosen on the other half of the documents."""
    if table.empty:
        return
    parts = [
        _claim(_in_percent(row), "", "", f"held-out accuracy of the best head of {row['relation']} in %", 75, True)
        for _, row in table.iterrows()
    ]
    statement = f"best heads of {', '.join(table['relation'])} are right in over 75 %"
    accuracies = ", ".join(f"{100 * value:.1f}" for value in table["value"])
    ours = f"Heads chosen on the other half of the {table['unit'].iloc[0]}: {accuracies} %"
    yield "txt_75pct", all_hold(statement, ours, parts)


def gain_claims(table: pd.DataFrame) -> Iterator[tuple[str, Claim]]:
    """The claim of issue 17 of the published code: aligning ROOT raises the accuracy of the probe with words."""
    rows = table[table["probe"] == "attention_words"]
    for _, row in rows.iterrows():
        statement = "aligning ROOT raises the UAS of the probe on attention and words"
        ours = f"UAS with ROOT aligned less UAS as published, mean over {row['seeds']} seeds"
        yield "issue17_gain", _claim(_in_percent(row), statement, ours, "gain in UAS, percentage points", 0, True)


def _claim(row: pd.Series, statement: str, ours: str, statistic: str, threshold: float, above: bool) -> Claim:
    level = float(row.get("level", LEVEL))
    numbers = (float(row["value"]), float(row["ci_low"]), float(row["ci_high"]))
    return Claim(statement, ours, statistic, *numbers, int(row["units"]), str(row["unit"]), threshold, above, level)


def _in_percent(row: pd.Series) -> pd.Series:
    scaled = row.copy()
    for name in ("value", "ci_low", "ci_high"):
        scaled[name] = 100 * row[name]
    return scaled
