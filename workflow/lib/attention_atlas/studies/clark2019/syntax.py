"""Dependency relations and single heads (section 4.2): every head, the best ones with held-out selection, options, Table 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.attention.cache import RepeatedAttention
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Examples
from attention_atlas.io.html_tables import Table
from attention_atlas.io.messages import progress
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods import dependency_scoring as scoring
from attention_atlas.methods.head_relations import head_relations, relation_tests
from attention_atlas.methods.options import AS_PUBLISHED, Options, alternatives, options_of
from attention_atlas.models.card import Card
from attention_atlas.stats.held_out import Resampling, best_head, folds_of, heldout
from attention_atlas.stats.intervals import bootstrap_ratio
from attention_atlas.stats.significance import p_in_words
from attention_atlas.stats.simultaneous import holm
from attention_atlas.studies.clark2019.claims import noop_frame, relation_claims_frame
from attention_atlas.studies.clark2019.maps import ChosenHeads, relation_weights
from attention_atlas.studies.clark2019.tables import published_row
from attention_atlas.workflow.shown import table

UNIVERSAL = frozenset(("obj", "obl", "case"))
"""Relations of Universal Dependencies that Stanford Dependencies do not have."""
_SURFACE_OPTIONS = {"sep_sep_denominator", "position_denominator", "entropy_smoothing"}
_RANDOM = ("layer", "head", "direction", "accuracy", "heldout_accuracy", "heldout_ci_low", "heldout_ci_high")


def dependencies(
    attention: RepeatedAttention,
    examples: Examples,
    card: Card,
    options: Mapping[str, Any],
    figure5_heads: ChosenHeads,
    min_count: int,
    folds: int,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Every head on every relation: which word it picks (`predict`), and how often that is right (`score`).

    Relations with fewer than `min_count` tokens get no best head, except those of the paper's Table 1.
    """
    chosen, resampling = options_of(options), Resampling(folds, resamples, seed)
    gold = scoring.gather_gold(examples)
    cached = progress(attention, total=len(examples), label="sentences")
    picked, to_sep = scoring.predict(examples, cached, ("mean", "first", "max"), card.sep)
    scores = scoring.score(picked[chosen.word_mode], gold, chosen)
    relations = relations_frame(scores, gold, chosen, min_count, resampling)
    pieces = Counter((number, word) for number, example in enumerate(examples) for word in example.word if word != SPECIAL)
    split = sum(count > 1 for count in pieces.values()) / len(pieces)
    summary = {"sentences": len(examples), "words": len(pieces), "split_words": split}
    return {
        "heads": scoring.heads_frame(scores, gold, chosen),
        "dependencies": relations,
        "head_relations": head_relations(scores, gold, chosen, resampling),
        "options": options_frame(picked, gold, min_count),
        "noop": noop_frame(to_sep, scores, gold, resampling),
        "summary": pd.DataFrame(summary.items(), columns=["quantity", "value"]),
        "claims": relation_claims_frame(scores, gold, chosen, resampling),
        "drawn": relation_weights(examples, attention, relations, figure5_heads),
    }


def relations_frame(
    scores: scoring.Scores, gold: scoring.Gold, options: Options, min_count: int, resampling: Resampling
) -> pd.DataFrame:
    """`best_heads` with intervals (bootstrap over units with the head fixed) and `relation_tests`; heldout_accuracy,
    heldout_baseline: head or offset chosen on the other folds of units; runner_up: the best other head; gap: accuracy minus
    its accuracy; units: how many have the relation.
    """
    best = scoring.best_heads(scores, gold, options, min_count)
    folds = folds_of(gold.units.count, resampling.folds, resampling.seed)[gold.units.of_item]
    rows = []
    for row in best.itertuples():
        chosen = gold.tokens_of(row.relation, options)
        units, fold = replace(gold.units, of_item=gold.units.of_item[chosen]), folds[chosen]
        right, offset_right = (answers[chosen] for answers in scores.of(row.relation))
        of_head = 1.0 * right[:, scoring.DIRECTIONS.index(row.direction), row.layer - 1, row.head - 1]
        of_offset = offset_right[:, options.offsets.index(row.baseline_offset)]
        held, held_offset = heldout(right, fold), heldout(offset_right, fold, lambda counts: (int(counts.argmax()),))
        counts = right.sum(axis=0)
        counts[:, row.layer - 1, row.head - 1] = -1
        direction, layer, head = best_head(counts)
        runner_up = right[:, direction, layer, head]
        columns = np.stack([of_head, held, of_head - of_offset, of_head - runner_up], axis=1)
        low, high = bootstrap_ratio(units.sums(columns), units.sizes()[:, None], resampling.resamples, resampling.seed)
        values = {"margin": columns[:, 2].mean(), "heldout_accuracy": held.mean(), "heldout_baseline": held_offset.mean()}
        values |= {"runner_up": f"{layer + 1}-{head + 1}", "runner_up_direction": scoring.DIRECTIONS[direction]}
        values |= {"runner_up_accuracy": runner_up.mean(), "gap": columns[:, 3].mean()}
        for number, name in enumerate(("accuracy_ci", "heldout_ci", "margin_ci", "gap_ci")):
            values |= {f"{name}_low": low[number], f"{name}_high": high[number]}
        rows.append(values | {"unit": units.name, "units": int((units.sizes() > 0).sum())})
    return pd.concat([best, pd.DataFrame(rows), relation_tests(scores, gold, options, best["relation"], resampling)], axis=1)


def options_frame(picked: Mapping[str, scoring.Ints], gold: scoring.Gold, min_count: int) -> pd.DataFrame:
    """Best head and baseline of each relation as published (one row for each option), and with every option changed alone."""
    variants = [(name, variant) for name, variant in alternatives() if name not in _SURFACE_OPTIONS]
    frames = []
    for option in dict.fromkeys(name for name, _ in variants):
        for options in [AS_PUBLISHED, *(variant for name, variant in variants if name == option)]:
            if options.word_mode in picked:
                frame = scoring.best_heads(scoring.score(picked[options.word_mode], gold, options), gold, options, min_count)
                frames.append(frame.assign(option=option, setting=options.option_text(option)))
    return pd.concat(frames, ignore_index=True)


@table(
    title="The best head of each dependency relation, with intervals and held-out choice",
    reads=("dependencies",),
    optional={"random": ("random_model", "variants/random/dependencies.tsv")},
    labels=("dependencies",),
    needs=("dependencies",),
    files=("dependencies.tsv", "dependency_heads.tsv", "dependency_head_relations.tsv"),
)
def table1(dependencies: pd.DataFrame, labels: Mapping[str, RunLabel], random: pd.DataFrame | None = None) -> Table:
    """The most accurate head for each dependency relation (Clark et al. 2019, Table 1). Accuracy: share of the words with this
    relation whose head word gets the largest attention, in the better of both directions; the head is chosen on the same
    sentences, as in the paper. Held-out: head or offset chosen on the other folds of documents.
    """
    relations = dependencies.set_index("relation", drop=False)
    names = [name for name in scoring.PAPER_RELATIONS if name in relations.index]
    if not UNIVERSAL.isdisjoint(relations.index):
        # A treebank in Universal Dependencies has other labels: its further relations follow, with no published values.
        names += [name for name in relations.index if name not in scoring.PAPER_RELATIONS]
    frame = relations.loc[names].reset_index(drop=True).drop(columns=["heldout_ci_low", "heldout_ci_high"], errors="ignore")
    firsts = dependencies[dependencies["relation"] != scoring.ALL].groupby(["layer", "head"])["relation"].agg(list).to_dict()
    places = frame[["relation", "layer", "head"]].itertuples(index=False)
    frame["also_first_for"] = [", ".join(r for r in firsts.get(tuple(place), []) if r != name) for name, *place in places]
    tested = frame["p_value"].notna()
    # Corrected over the rows of this table, whatever further rows the table of relations has (setting `min_count`).
    frame.loc[tested, "p_holm"] = holm(frame.loc[tested, "p_value"].to_numpy(np.float64))
    # The smallest possible p of a row, with the correction of the row.
    smallest = frame["smallest_p"] * frame["p_holm"] / frame["p_value"]
    p = [
        p_in_words(*pair).removeprefix("= ") if pd.notna(pair[0]) else ""
        for pair in zip(frame["p_holm"], smallest, strict=True)
    ]
    frame = frame.drop(columns=["p_value", "smallest_p"])
    if random is not None:
        control = random[["relation", *_RANDOM]].rename(columns={name: f"random_{name}" for name in _RANDOM})
        frame = frame.merge(control, how="left", on="relation").astype({"random_layer": "Int64", "random_head": "Int64"})
    frame = pd.concat([frame, pd.DataFrame([published_row(name) for name in names])], axis=1)
    frame["relations_are"] = "converted" if labels["dependencies"].converted else "annotated"
    columns = {
        **{"relation": "Relation", "n": "n", "best": "Head", "direction": "Direction", "accuracy": "Accuracy %"},
        **{"interval": "95 % interval", "runner_up": "Runner-up", "runner_up_accuracy": "Runner-up %"},
        **{"gap": "Gap, 95 % interval", "also_first_for": "Also first for", "heldout_accuracy": "Held-out %"},
        **({} if random is None else {"random_heldout_accuracy": "Random weights, held-out %"}),
        **{"baseline_accuracy": "Baseline %", "baseline_offset": "Offset", "p_holm": "p (Holm)"},
        **{"paper_head": "Paper: head", "paper_accuracy": "Paper: accuracy %", "paper_baseline": "Paper: baseline %"},
        **{"notebook_accuracy": "Authors' notebook %", "notebook_baseline": "Notebook baseline %"},
    }
    percent = [name for name in columns if name.endswith(("accuracy", "baseline"))]
    page = frame.assign(
        best=[f"{row.layer}-{row.head}" for row in frame.itertuples()],
        interval=[f"{100 * row.accuracy_ci_low:.1f} to {100 * row.accuracy_ci_high:.1f}" for row in frame.itertuples()],
        gap=[f"{100 * low:.1f} to {100 * high:.1f}" for low, high in frame[["gap_ci_low", "gap_ci_high"]].to_numpy()],
        p_holm=p,
        direction=frame["direction"].map({"dependent_to_head": "dep → head", "head_to_dependent": "head → dep"}),
        **{name: 100 * frame[name].astype(float) for name in percent},
    )[list(columns)]
    unit = frame["unit"].iloc[0]
    notes = [
        f"Interval: bootstrap over {frame['units'].max()} {unit} with the head fixed. Runner-up: the best "
        "other head; gap: interval of the difference, with both heads fixed. If it contains 0, either may be the better one. "
        "Also first for: all further relations that the run scores. Baseline: best fixed offset. p: "
        f"permutation test of the head against the offset, both chosen on one half of the {unit} and compared on the other "
        "(tested_margin in the file), Holm-corrected over the rows of this table; ≤: no exchange was as extreme."
        + ("" if random is None else " Random weights: the same selection among the heads of a model with random weights."),
        "The paper prints 82.5 / 40.5 for auxpass; in the authors' notebook the head has 94.1 and 82.5 is its baseline.",
    ]
    formats = dict.fromkeys(percent, ".1f") | {"baseline_offset": "+d", "n": "d"}
    return Table(frame, notes, page, columns, formats)
