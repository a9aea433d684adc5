"""The claims of Guan et al. (2020) on the order of their numbers, tested on the run's model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, TITLES, TYPES, VERTICAL, shares_by_half
from attention_atlas.published.compare import Claim, all_hold
from attention_atlas.stats.intervals import expanded_level
from attention_atlas.stats.levels import LEVEL, level_of_parts
from attention_atlas.studies.guan2020.rows import BASELINE, PRUNED, SENTENCES, UNIFORMED, passage_interval, unnamed_clusters

Floats = npt.NDArray[np.float64]
Change = tuple[int, str]
"""Number of a row, and its definition of a sentence."""
_FEWEST_PASSAGES = 10
"""Bootstrap intervals over fewer passages are too short for a verdict."""
_PAIRED = "mean over questions, percentage points"


@dataclass(frozen=True)
class F1Drops:
    """Drops of F1 from the unchanged model, by question (a column for each row of Tables 2 and 3 and definition of a sentence).

    passages: [question] number of its passage. permuted: type -> [permutation] mean drop when pruning the heads that have the
    type after it.
    """

    by_question: pd.DataFrame
    passages: npt.NDArray[np.integer]
    permuted: dict[str, Floats]

    def mean(self, change: Change) -> float:
        return float(self.by_question[change].mean())


def drops_of(answers: pd.DataFrame) -> F1Drops:
    """Drops of F1 of a table of `ablations.answers`."""
    unchanged = answers[answers["row"] == BASELINE].set_index("question")
    of_types = answers[(answers["drawn_from"] == "type") & (answers["row"] != BASELINE)]
    f1 = of_types.pivot(index="question", columns=["row", "sentences"], values="f1").loc[unchanged.index]
    permuted = answers[answers["drawn_from"] == "permuted"].groupby(["row", "draw"])["f1"].mean()
    rows = set(permuted.index.get_level_values("row"))
    return F1Drops(
        f1.rsub(unchanged["f1"], axis=0),
        unchanged["passage"].to_numpy(),
        {kind: unchanged["f1"].mean() - permuted[row].to_numpy(float) for kind, row in PRUNED.items() if row in rows},
    )


def claims(drops: F1Drops, types: pd.DataFrame, resamples: int, seed: int) -> Iterator[Claim]:
    """Claims that follow from the order of the paper's numbers, or that its text makes."""
    pruned = {kind: (row, "") for kind, row in PRUNED.items()}
    uniform = {kind: (row, "") for kind, row in UNIFORMED.items()}
    unnamed = unnamed_clusters(types)
    of_unnamed = f" of {'the' if len(unnamed) == 1 else 'an'} unnamed cluster"
    numbers = {kind: int((types["cluster"] == kind).sum()) for kind in TYPES}
    sizes = {
        kind: f"{number} {'head' if number == 1 else 'heads'}{of_unnamed if kind in unnamed else ''}"
        for kind, number in numbers.items()
    }
    shown = "F1 drops: " + "; ".join(
        f"{TITLES[kind]} {drops.mean(change):.1f} ({sizes[kind]})" for kind, change in pruned.items()
    )

    def larger(pairs: Mapping[tuple[str, str], tuple[str, Change, Change]], statement: str, ours: str) -> Claim:
        """The claim that the first change of each pair costs more than the second; not tested for types without a cluster."""
        parts = paired_parts(drops, list(pairs.values()), resamples, seed)
        lacking = [kind for kind in unnamed if any(kind in kinds for kinds in pairs)]
        tested = [
            part if not unnamed.intersection(kinds) else replace(part, ci_low=math.nan, ci_high=math.nan)
            for kinds, part in zip(pairs, parts, strict=True)
        ]
        return all_hold(statement, ours + _lacking(lacking), tested)

    most = [(DIAGONAL, kind) for kind in TYPES if kind != DIAGONAL]
    least = [(kind, VERTICAL) for kind in TYPES if kind != VERTICAL]
    for pairs, statement in (
        (most, "Pruning Diagonal heads costs the most of the four types (Table 2, rows 2 to 5)"),
        (least, "Pruning Vertical heads costs the least (Table 2, rows 2 to 5)"),
    ):
        changes = {(a, b): (f"{TITLES[a]} - {TITLES[b]}", pruned[a], pruned[b]) for a, b in pairs}
        yield larger(changes, statement, shown)
    yield larger(
        {(kind, kind): (f"{TITLES[kind]}: substituted by 1/L - pruned", uniform[kind], pruned[kind]) for kind in TYPES},
        "Substitution by 1/L costs more than pruning, for every type (Table 2, rows 8 to 11)",
        "F1 drops, 0 and 1/L: "
        + "; ".join(
            f"{TITLES[kind]} {drops.mean(pruned[kind]):.1f} and {drops.mean(uniform[kind]):.1f} ({sizes[kind]})"
            for kind in pruned
        ),
    )
    for kind, intra, inter in ((DIAGONAL, 12, 13), (DENSE_VERTICAL, 14, 15)):
        for sentences in [sentences for row, sentences in drops.by_question.columns if row == intra]:
            within, between = (intra, sentences), (inter, sentences)
            more, less = ("within", "between") if kind == DIAGONAL else ("between", "within")
            pair = (within, between) if kind == DIAGONAL else (between, within)
            yield larger(
                {(kind, kind): (f"{more} - {less}", *pair)},
                f"{TITLES[kind]} heads matter more {more} sentences (Table 3, rows {intra} and {inter}; "
                f"{SENTENCES[sentences]})",
                f"F1 drops: within {drops.mean(within):.1f}, between {drops.mean(between):.1f}",
            )
    for kind, lower_half in ((DENSE, True), (VERTICAL, False)):
        yield _by_depth(types, kind, lower_half, resamples, seed)
    for kind, change in pruned.items():
        claim = beside_permutations(kind, drops.mean(change), drops.permuted.get(kind, np.empty(0)))
        if kind in unnamed:
            claim = replace(claim, ours=claim.ours + _lacking([kind]), ci_low=math.nan, ci_high=math.nan)
        yield claim


def _lacking(kinds: Sequence[str]) -> str:

    return f"; no cluster of heads is {' or '.join(TITLES[kind] for kind in TYPES if kind in kinds)}" if kinds else ""


def paired_parts(drops: F1Drops, pairs: Sequence[tuple[str, Change, Change]], resamples: int, seed: int) -> list[Claim]:
    """For each pair the difference of two drops on the same questions, with an interval by bootstrap over passages; several
    pairs have smaller tails and need as many times more resamples.
    """
    differences = np.stack([drops.by_question[first] - drops.by_question[second] for _, first, second in pairs], axis=1)
    level = level_of_parts(len(pairs))
    number = len(np.unique(drops.passages))
    low = high = np.full(len(pairs), np.nan)
    if number >= _FEWEST_PASSAGES:
        tails = expanded_level(level, number)
        low, high = passage_interval(differences, drops.passages, resamples * len(pairs), seed, tails)
    return [
        Claim("", "", f"difference of F1 drops, {name}; {_PAIRED}", value, low[k], high[k], number, "passages", level=level)
        for k, ((name, _, _), value) in enumerate(zip(pairs, differences.mean(axis=0), strict=True))
    ]


def _by_depth(types: pd.DataFrame, kind: str, lower_half: bool, draws: int, seed: int) -> Claim:
    """The claim that a type has a larger share of the heads of one half of the layers than of the other."""
    of_kind = types["type"] == kind
    lower, upper, low, high = shares_by_half(types["layer"].to_numpy(), of_kind.to_numpy(), draws, seed, LEVEL)
    if not of_kind.any():
        low = high = math.nan
    place, other_place = ("lower", "upper") if lower_half else ("upper", "lower")
    return Claim(
        f"{TITLES[kind]} heads are mainly in the {place} half of the layers",
        f"shares: lower {lower:.0%}, upper {upper:.0%}" + _lacking([] if of_kind.any() else [kind]),
        f"difference of shares of heads, {place} - {other_place} half",
        lower - upper if lower_half else upper - lower,
        *((low, high) if lower_half else (-high, -low)),
        types["layer"].nunique(),
        "layers",
    )


def beside_permutations(kind: str, drop: float, permuted: Floats) -> Claim:
    """The claim that pruning a type costs more than pruning the heads that have it after permuting the types within layers.

    If types say nothing about heads, the type's drop is one more draw from the distribution of the permutations. The interval
    leaves out as many draws on either side as keep its coverage, so 39 permutations are the fewest for a 95 % interval.
    """
    number = len(permuted)
    outside = math.floor((1 - LEVEL) / 2 * (number + 1) + 1e-9)
    low = high = math.nan
    ours = f"F1 drop {drop:.1f}; "
    if outside:
        ordered = np.sort(permuted)
        low, high = drop - ordered[-outside], drop - ordered[outside - 1]
    if number:
        ours += f"permutations: mean {permuted.mean():.1f}, {permuted.min():.1f} to {permuted.max():.1f}"
    else:
        ours += "no permutations"
    if not outside:
        ours += f"; {fewest_permutations()} are needed (setting permutations)"
    return Claim(
        f"The type matters, not the number and layers of its heads: pruning {TITLES[kind]} heads costs more than pruning as "
        "many heads of the same layers",
        ours,
        "F1 drop of the type - F1 drop of a permutation, percentage points; value: mean over permutations",
        drop - float(permuted.mean()) if number else math.nan,
        low,
        high,
        number,
        "permutations of the types within layers",
    )


def fewest_permutations() -> int:
    """The smallest number of permutations that decides a claim at `LEVEL`."""
    return math.ceil(2 / (1 - LEVEL) - 1e-9) - 1
