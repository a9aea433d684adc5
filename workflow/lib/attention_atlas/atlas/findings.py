"""Findings across papers: statements of one study on heads, tested on measures of another study on the same heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import mannwhitneyu, rankdata

from attention_atlas.atlas.correlations import LEAST, Draws, correlation, drawn_heads, shuffles_within
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.published.pages import claim_verdict
from attention_atlas.stats.bootstrap import percentile_interval

Floats = npt.NDArray[np.float64]
FINDINGS = ["finding", "statistic", "value", "ci_low", "ci_high", "within_layers", "p", "n", "verdict"]
NOT_TESTED = "not tested"
_VERTICAL = ("vertical", "dense_vertical")


@dataclass(frozen=True)
class Question:
    """A finding: the statement, the measures that it needs, and the test; `sign` is that of the value if it holds."""

    statement: str
    needs: tuple[str, str]
    statistic: str
    sign: int
    grouped: bool = False


QUESTIONS = (
    Question(
        "Vertical heads (Guan et al.) are the ones that importance (Michel et al.) prunes first",
        ("distance_type", "importance"),
        "probability that a vertical head is less important than another, minus 1/2",
        1,
        grouped=True,
    ),
    Question(
        "Heads that attend to [SEP] (no-ops, Clark et al.) cost nothing when they are disabled (Kovaleva et al.)",
        ("to_sep", "disabled"),
        "Spearman of attention to [SEP] with the score left",
        1,
    ),
    Question(
        "The same with heads masked in a classifier (Michel et al.)",
        ("to_sep", "masked"),
        "Spearman of attention to [SEP] with the score left",
        1,
    ),
    Question(
        "Heads that follow a relation (Clark et al.) change little in fine-tuning (Kovaleva et al.)",
        ("relation_margin", "unchanged"),
        "Spearman of the margin over the offset with the cosine before and after",
        1,
    ),
    Question(
        "Heads that detect keyphrases untrained (Štefánik) are the ones that a tagger needs",
        ("keyphrase_auc", "tagger_without"),
        "Spearman of AUC with the score left without the head",
        -1,
    ),
    Question(
        "Importance by derivatives (Michel et al.) says which heads cost most when masked",
        ("importance", "masked"),
        "Spearman of importance with the score left",
        -1,
    ),
)


def findings(table: pd.DataFrame, draws: Draws) -> pd.DataFrame:
    """A row a question, columns `FINDINGS`.

    ci: bootstrap over heads; p: heads shuffled within their layers, so that depth alone is no finding; within_layers: the
    statistic on the ranks less their means by layer (none for groups). A finding holds where the interval
    lies on its side of 0.
    """
    rows = []
    for question in QUESTIONS:
        first_measure, second_measure = question.needs
        absent = [name for name in question.needs if name not in table]
        complete = table.dropna(subset=question.needs) if not absent else table.iloc[:0]
        test: Callable[..., Sequence[float]] = _groups if question.grouped else correlation
        in_group = complete[first_measure].isin(_VERTICAL).to_numpy() if not absent and question.grouped else None
        reason = ""
        if absent:
            reason = f"{', '.join(absent)} not measured"
        elif len(complete) < LEAST or (in_group is not None and (in_group.all() or not in_group.any())):
            reason = "too few heads of both kinds"
        elif constant := [name for name in question.needs if complete[name].nunique() < 2]:
            reason = f"{', '.join(constant)} the same for all heads"
        if reason:
            nothing = [*[np.nan] * 5, len(complete), f"{NOT_TESTED}: {reason}"]
            rows.append([question.statement, question.statistic, *nothing])
            continue
        values = in_group if in_group is not None else complete[first_measure].to_numpy(np.float64)
        result = test(values, complete[second_measure].to_numpy(np.float64), complete["layer"].to_numpy(np.intp), draws)
        holds = result[1] > 0 if question.sign > 0 else result[2] < 0
        rows.append([question.statement, question.statistic, *result, len(complete), claim_verdict(bool(holds))])
    return pd.DataFrame(rows, columns=FINDINGS)


def _groups(inside: npt.NDArray[np.bool_], values: Floats, layer: npt.NDArray[np.intp], draws: Draws) -> list[float]:
    """[value, ci_low, ci_high, NaN, p]: how much more often than not a value inside is below one outside (ties count half)."""
    drawn = drawn_heads(len(values), draws)
    usable_draws = [places for places in drawn if 0 < inside[places].sum() < len(places)]
    low, high = percentile_interval(np.array([_below(inside[places], values[places]) for places in usable_draws]))
    value = _below(inside, values)
    # Ranks stay what they are when heads change places: their sum inside is all that changes.
    ranks = rankdata(values)[shuffles_within(layer, draws.shuffles, draws.seed)][:, inside].sum(axis=1)
    count, outside = int(inside.sum()), int((~inside).sum())
    changed = 0.5 - (ranks - count * (count + 1) / 2) / (count * outside)
    p = (int((np.abs(changed) >= abs(value) - 1e-12).sum()) + 1) / (draws.shuffles + 1)
    return [value, float(low), float(high), np.nan, p]


def _below(inside: npt.NDArray[np.bool_], values: Floats) -> float:
    statistic = mannwhitneyu(values[~inside], values[inside]).statistic
    return float(statistic / (inside.sum() * (~inside).sum()) - 0.5)


def write_findings(
    heads: str | Path, models: Mapping[str, str], run: str, draws: Draws, out: str | Path, html_out: str | Path
) -> None:
    """Write findings.tsv and its page.

    Args:
        heads: heads.tsv.
        models: study -> model that its measures are of.
        run: title of the run.
        draws: of bootstrap and permutations.
        out, html_out: files to write.

    Raises:
        AtlasError: the table cannot be used.
    """
    frame = findings(read_table(heads, ["layer", "head"]), draws)
    write_table(frame, out)
    which = "; ".join(f"{study}: {model}" for study, model in models.items())
    notes = [
        f"{run}. Measures of single heads, of these models: {which}.",
        "A finding holds where its interval (bootstrap over heads) lies on its side of 0. p: heads shuffled within their "
        "layers, two-sided, so that what depth alone explains is no finding; within layers: the correlation of ranks less "
        "their means by layer.",
    ]
    write_html_table(frame, html_out, "Findings across papers", notes, formats={"n": "d", "p": ".4f"})
