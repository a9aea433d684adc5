"""Main conclusions of Clark et al. (2019) as claims: sections 4.2 (syntax), 4.3 (coreference), 5 (probes) and 6 (layers)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.published.claims import Claim
from attention_atlas.stats.levels import LEVEL
from attention_atlas.studies.clark2019.claim_rows import claim_of, in_percent
from attention_atlas.studies.clark2019.probes.names import ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS
from attention_atlas.studies.clark2019.probes.table3 import RANDOM

OVERALL = 50
"""Accuracy in % over all words below which no head does well overall: our threshold, the paper compares 34.5 with 26.3."""
OVER_HEAD_MATCH = 10
"""Percentage points by which the paper's head is better than head match."""
CLOSE_TO_RULES = 10
"""Percentage points below the rules at which a head is still close to them: our threshold, the gain over head match."""
_PROBES = {
    DISTANCES_WORDS: "distances and word vectors",
    RANDOM: "randomly initialised attention and word vectors",
    ATTENTION: "attention alone",
}
_ALIGNMENTS = {"legacy": "as published", "fixed": "with ROOT aligned"}


def syntax_claims(relations: pd.DataFrame, table: pd.DataFrame) -> Iterator[Claim]:
    """Claims of section 4.2: heads specialise in relations, and no head does well overall.

    Args:
        relations: of `relation_tables.relations_frame`. The tests of all relations hold together (Holm), so that the share of
            relations whose head is better lies between that of the relations where it is significantly better, and 1 less that
            of the relations where the offset is.
        table: of `dependencies.claims_frame`.
    """
    tested = relations[(relations["relation"] != ALL) & relations["tested_margin"].notna()]
    if len(tested):
        significant = tested["p_holm"] < 1 - LEVEL
        better, worse = (significant & (sign * tested["tested_margin"] > 0) for sign in (1, -1))
        ours = (
            f"Head and offset chosen on the other half of the {tested['unit'].iloc[0]}: the head is significantly better in "
            f"{better.sum()} of {len(tested)} relations, the offset in {worse.sum()} (permutation test, Holm)"
        )
        yield Claim(
            statement="in most relations the best head beats the best fixed offset",
            ours=ours,
            statistic="share of relations whose head beats the offset (interval: from those with a significant difference)",
            value=float((tested["tested_margin"] > 0).mean()),
            ci_low=float(better.mean()),
            ci_high=float(1 - worse.mean()),
            n=len(tested),
            unit="relations",
            threshold=0.5,
        )
    for _, row in table[table["relation"] == ALL].iterrows():
        offset = relations.loc[relations["relation"] == ALL, "baseline_accuracy"]
        beside = f"; best fixed offset: {100 * offset.iloc[0]:.1f} %" if len(offset) else ""
        ours = f"Head chosen on the other half of the {row['unit']} (on all of them: {row['place']}){beside}"
        statement = f"no single head does well at syntax overall: the best is right for less than {OVERALL} % (our threshold)"
        yield claim_of(in_percent(row), statement, ours, "held-out accuracy of the best head on all words in %", OVERALL, False)


def coreference_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Claims of section 4.3, from `coreference.claims_frame`."""
    rules = {
        "head_match": (
            f"one head improves on matching head words by over {OVER_HEAD_MATCH} percentage points",
            "the nearest mention with the same head word",
            OVER_HEAD_MATCH,
        ),
        "rule_based": (
            f"one head performs close to the four sieves: at most {CLOSE_TO_RULES} percentage points below (our threshold)",
            "the four sieves",
            -CLOSE_TO_RULES,
        ),
    }
    rows = table.set_index("baseline")
    for name, (statement, title, threshold) in rules.items():
        row = rows.loc[name]
        ours = f"Head chosen on the other half of the {row['unit']} (on all of them: {row['place']})"
        if pd.notna(row["value"]):
            ours += f": {100 * row['head_accuracy']:.1f} %, {title}: {100 * row['baseline_accuracy']:.1f} %"
        statistic = f"accuracy of the best head minus that of {title}, percentage points"
        yield claim_of(in_percent(row), statement, ours, statistic, threshold, True)


def lead_claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Claims of section 5, from `table3.probe_leads`: the probe on attention and words beats all others of Table 3."""
    leads = table[table["probe"] == ATTENTION_WORDS].set_index(["over", "root_alignment"])
    for over, name in _PROBES.items():
        for alignment, words in _ALIGNMENTS.items():
            if (over, alignment) not in leads.index:
                continue
            row = leads.loc[(over, alignment)]
            other = next(key for key in _ALIGNMENTS if key != alignment)
            ours = f"Mean over {row['seeds']} seeds"
            if (over, other) in leads.index:
                ours += f"; {_ALIGNMENTS[other]} the lead is {100 * leads.loc[(over, other), 'value']:.1f} percentage points"
            statement = f"{words}, the probe on attention and word vectors beats {name}"
            yield claim_of(in_percent(row), statement, ours, "lead in UAS, percentage points", 0, True)


def layer_claim(table: pd.DataFrame) -> Claim:
    """The claim of section 6 that heads of one layer are similar, from `clustering.cluster_heads`.

    The interval is over documents, for these heads. The claim holds only if shuffled layer labels seldom differ as much, too;
    otherwise it is undecided.
    """
    rows = table.set_index("quantity")
    row = rows.loc["difference"].copy()
    p = rows.loc["permutation_p", "value"]
    within, between = (rows.loc[name, "value"] for name in ("within_layer", "between_layers"))
    ours = f"Within a layer {within:.3f}, between layers {between:.3f} nats per token; permutation of layer labels: p = {p:.2g}"
    claim = claim_of(
        *(row, "heads of one layer are more similar than heads of different layers", ours),
        *("mean Jensen-Shannon divergence between layers minus that within a layer, nats per token", 0, True),
    )
    return replace(claim, is_confirmed=bool(p < 1 - LEVEL))
