"""Every published number of Guan et al. (2020) beside the measured one, and the paper's claims tested on the run's model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.run_label import RunLabel
from attention_atlas.methods.head_type_names import DENSE, DENSE_VERTICAL, DIAGONAL, TITLES, TYPES, VERTICAL
from attention_atlas.published.claims import claim_verdict
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.guan2020.ablation_rows import SEGMENTS, STOPS

_SINGLE = {DENSE: (2, 8), DIAGONAL: (3, 9), DENSE_VERTICAL: (4, 10), VERTICAL: (5, 11)}
"""Type -> its row when it is pruned, and when it is substituted."""


def comparison(
    tables: Mapping[str, Any],
    label: RunLabel,
    fits: int,
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file.
        label: model and questions.
        fits: number of halves in Table 1.
        out, html_out: every published value beside ours.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    frames["quantities"] = quantities(_quantities(frames, fits))
    published = load_published("guan2020")
    frame = compare(published, measure(published, frames, {"questions": label}))
    note = (
        "A number is compared only with the same model on the same data; inconsistencies of the paper are named in the "
        "column why."
    )
    write_comparison(frame, out, html_out, "Guan et al. 2020: published values and this run", [label.line], note)
    notes = [label.line, "Claims of the paper on order, tested on this run's model; drops of exact match and F1 in points."]
    write_claims(_claims(frames), claims_out, claims_html, "Guan et al. 2020: claims and this run", notes)


def _quantities(frames: Mapping[str, pd.DataFrame], fits: int) -> Iterator[Quantity]:
    types = frames["head_types"]
    yield Quantity("features", len([name for name in types.columns if name not in ("model", "layer", "head", "type")]))
    yield Quantity("types", len(TYPES))
    yield Quantity("fits", fits)
    yield Quantity("half", 50)
    for kind in TYPES:
        yield Quantity(f"share_{kind}", float((types["type"] == kind).mean()), len(types))


def _claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    """Claims that follow from the order of the paper's numbers, or that its text makes."""
    table2 = frames["table2"].set_index("row")
    table3 = frames["table3"]
    drop = {kind: (table2.loc[zero, "f1_drop"], table2.loc[uniform, "f1_drop"]) for kind, (zero, uniform) in _SINGLE.items()}
    pruned = "; ".join(f"{TITLES[kind]} {zero:.1f}" for kind, (zero, _) in drop.items())
    worst = max(drop, key=lambda kind: drop[kind][0])
    least = min(drop, key=lambda kind: drop[kind][0])
    yield (
        "Pruning Diagonal heads costs most of the four types (rows 2 to 5)",
        f"F1 drops: {pruned}",
        claim_verdict(worst == DIAGONAL),
    )
    yield "Pruning Vertical heads costs least (rows 2 to 5)", f"F1 drops: {pruned}", claim_verdict(least == VERTICAL)
    both = "; ".join(f"{TITLES[kind]} {zero:.1f} and {uniform:.1f}" for kind, (zero, uniform) in drop.items())
    harder = all(uniform > zero for zero, uniform in drop.values())
    yield (
        "Substitution by 1/L costs more than pruning, for every type (rows 8 to 11)",
        f"F1 drops, 0 and 1/L: {both}",
        claim_verdict(harder),
    )
    for kind, intra, inter, within in ((DIAGONAL, 12, 13, True), (DENSE_VERTICAL, 14, 15, False)):
        for sentences in (SEGMENTS, STOPS):
            drops = table3[table3["sentences"] == sentences].set_index("row")["f1_drop"]
            where = "within" if within else "between"
            claim = f"{TITLES[kind]} heads matter more {where} sentences (rows {intra} and {inter}; sentences: {sentences})"
            holds = (drops[intra] > drops[inter]) == within
            yield claim, f"F1 drops: within {drops[intra]:.1f}, between {drops[inter]:.1f}", claim_verdict(bool(holds))
    layers = frames["figure3"]
    half = layers["layer"].max() / 2
    for kind, low in ((DENSE, True), (VERTICAL, False)):
        shares = layers[layers["type"] == kind].set_index("layer")["share"]
        means = shares[shares.index <= half].mean(), shares[shares.index > half].mean()
        claim = f"{TITLES[kind]} heads stand mainly in the {'lower' if low else 'upper'} half of the layers"
        yield claim, f"shares: lower {means[0]:.0%}, upper {means[1]:.0%}", claim_verdict((means[0] > means[1]) == low)
    beaten = table2.loc[[zero for zero, _ in _SINGLE.values()], "f1_random_share_below"].fillna(0)
    types = "; ".join(f"{TITLES[kind]} {beaten[zero]:.0%}" for kind, (zero, _) in _SINGLE.items())
    claim = "The type matters, not the number and layers of its heads: pruning it costs more than every matched random set"
    yield claim, f"random sets with a smaller F1 drop: {types}", claim_verdict(bool((beaten == 1).all()))
