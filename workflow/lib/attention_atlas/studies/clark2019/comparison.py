"""Every published number of Clark et al. (2019) beside the measured one; claims on order and thresholds for any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import VERDICT_NOTE, write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.clark2019.claims import claims, measured_claim
from attention_atlas.studies.clark2019.surface_claims import middle_layers
from attention_atlas.studies.clark2019.systems import BEST_HEAD


def comparison(
    tables: Mapping[str, Any],
    labels: Mapping[str, RunLabel],
    thresholds: Mapping[str, Any],
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file; an empty list for roles that the run does not name.
        labels: role -> model and corpus (segments, dependencies, and where the run has them coreference and probe_training).
        thresholds: of the behaviours in Figure 6: broad_entropy (nats), position and special (shares).
        out, html_out: every published value beside ours.
        claims_out, claims_html: the claims, see `write_claims`.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    segments = frames["surface_summary"].set_index("quantity")["value"]
    frames["surface_summary"]["n"] = int(segments["segments"])
    frames["quantities"] = quantities(_quantities(frames, segments, thresholds))
    best = frames["dependencies"].rename(columns={"accuracy_ci_low": "ci_low", "accuracy_ci_high": "ci_high"})
    frames["dependency_heads"] = _with_best(frames["dependency_heads"], best, "relation")
    if "coreference_heads" in frames:
        table2 = frames["table2"]
        best = table2[table2["system"] == BEST_HEAD]
        frames["coreference_heads"] = _with_best(frames["coreference_heads"], best, "mention_type")
    published = load_published("clark2019")
    tested = list(claims(frames, labels))
    measured = measure(published, frames, labels) | {one.identifier: measured_claim(one) for one in tested if one.identifier}
    lines = joint_lines(labels.values())
    note = (
        "A number is compared only with the same model on the same data (exact), or on data made in the same way or with "
        "values read off a figure (close). Numbers of a named head (Table 1, head 5-4 of Table 2) are compared with those of "
        "the head at the same layer and position. Claims on order and thresholds are tested on any model: our value is then "
        "the statistic that tests the claim, and n the number of independent units of its interval; where the published value "
        "is a list of layers, so is ours, without an interval. " + VERDICT_NOTE
    )
    frame = compare(published, measured)
    write_comparison(frame, out, html_out, "Clark et al. 2019: published values and this run", lines, note)
    placed = []
    for one in tested:
        place = published[one.identifier].item if one.identifier else one.place
        ours = f"{one.claim.ours}; on {one.label.corpus}"
        placed.append(replace(one.claim, statement=f"{place}: {one.claim.statement}", ours=ours))
    notes = [
        *lines,
        "Claims of the paper on order and thresholds; comparison.tsv lists those with a published number beside it. A "
        "threshold that the paper does not give is called ours.",
    ]
    write_claims(placed, claims_out, claims_html, "Clark et al. 2019: claims and this run", notes)


def _quantities(frames: Mapping[str, pd.DataFrame], segments: pd.Series, thresholds: Mapping[str, Any]) -> Iterator[Quantity]:
    for name in ("broad_entropy", "position", "special"):
        yield Quantity(f"threshold_{name}", float(thresholds[name]))
    n = int(segments["segments"])
    yield Quantity("sep_expected", 2 / float(segments["mean_tokens"]), n)
    sep = _layer_means(frames["surface"], "sep")
    if len(sep):
        first, last = middle_layers(len(sep))
        yield Quantity("middle_sep_lowest", 100 * float(sep[first:last].min()), n)
        yield Quantity("middle_sep_highest", 100 * float(sep[first:last].max()), n)
    for probe, gain in _root_gains(frames).items():
        yield Quantity(f"root_gain_{probe}", gain)


def _with_best(heads: pd.DataFrame, best: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Accuracies of all heads with the columns `best`, ci_low and ci_high.

    Where `heads` has no intervals, they are measured for the best heads alone: those of other heads are missing.

    Args:
        heads: kind, layer, head, direction, n, correct, accuracy; where every head has an interval, ci_low and ci_high.
        best: kind, layer, head, direction, accuracy, ci_low, ci_high of the best head of each kind.
        kind: column of the relation or type of mention.
    """
    place = [kind, "layer", "head", "direction"]
    best = best[[*place, "accuracy", "ci_low", "ci_high"]].astype({"layer": int, "head": int})
    named = [
        f"{row.layer}-{row.head} {str(row.direction).replace('_', ' ')} {100 * row.accuracy:.1f} %" for row in best.itertuples()
    ]
    words = dict(zip(best[kind], named, strict=True))
    intervals = [name for name in ("ci_low", "ci_high") if name not in heads]
    merged = heads.merge(best[[*place, *intervals]], on=place, how="left")
    return merged.assign(best=merged[kind].map(words).fillna("not measured"))


def _root_gains(frames: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Probe -> UAS with ROOT aligned correctly minus UAS as published, in percentage points."""
    if "table3" not in frames:
        return {}
    table = frames["table3"]
    scored = table[(table["decoding"] == "argmax") & (table["punctuation"] == "without")]
    uas = scored.groupby(["probe", "root_alignment"])["uas"].mean().unstack().reindex(columns=["fixed", "legacy"]).dropna()
    return {str(probe): 100 * float(gain) for probe, gain in (uas["fixed"] - uas["legacy"]).items()}


def _layer_means(surface: pd.DataFrame, name: str) -> Any:
    """[layer] means of a measure over heads; empty where the model has no such token."""
    return surface[surface["measure"] == name].groupby("layer")["value"].mean().to_numpy()
