"""Rows of Tables 2 and 3: exact match and F1 under each row, their drop from the baseline, random heads as a control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.tables import read_parquet, read_table, write_table
from attention_atlas.published.values import Published, load_published, printed
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.studies.guan2020.ablation_rows import BASELINE, ROWS

SCORES = ("em", "f1")
SCORES_NOTE = (
    "EM: exact match, in %; intervals by bootstrap over passages. Random: the same done to random heads, as many in each "
    "layer; mean drop, and least to largest. Nothing is trained again."
)
"""Explanation of the columns of both tables."""


def ablation_table(
    name: str, answers_path: str | Path, heads_path: str | Path, resamples: int, seed: int, out: str | Path
) -> None:
    """Write the rows of a table: row, action, types, sentences, heads, n, and for em and f1 the score, its drop from the
    baseline, their intervals, and mean, least and largest drop of the random sets.

    Args:
        name: table2 or table3.
        answers_path, heads_path: of `ablations.score_answers`.
        resamples, seed: of the bootstrap over passages.
        out: file to write; scores and drops in percent. em_random_share_below, f1_random_share_below:
            share of random sets with a smaller drop.

    Raises:
        AtlasError: the answers cannot be read.
    """
    scored = read_parquet(answers_path, ["row", "sentences", "draw", "passage", *SCORES])
    baseline = scored[scored["row"] == BASELINE]
    changed = read_table(heads_path, ["row", "draw", "layer", "head"])
    sizes = changed[changed["draw"] == 0].drop_duplicates(["row", "layer", "head"])["row"].value_counts()
    records = [_record(baseline, baseline, {"row": BASELINE, "heads": 0}, resamples, seed)]
    for row in ROWS:
        row_answers = scored[scored["row"] == row.number]
        for sentences in row_answers["sentences"].unique() if row.table == name else ():
            facts = {"row": row.number, "action": row.action, "types": "+".join(row.types), "sentences": sentences or None}
            facts["heads"] = int(sizes.get(row.number, 0))
            records.append(_record(row_answers[row_answers["sentences"] == sentences], baseline, facts, resamples, seed))
    write_table(pd.DataFrame(records), out)


def _record(answers: pd.DataFrame, baseline: pd.DataFrame, facts: dict[str, Any], resamples: int, seed: int) -> dict[str, Any]:
    type_answers = answers[answers["draw"] == 0]
    record = {name: facts.get(name) for name in ("row", "action", "types", "sentences", "heads")}
    record |= {"n": len(type_answers), "passages": int(type_answers["passage"].nunique())}
    for score in SCORES:
        values, drops = (
            type_answers[score].to_numpy(float),
            baseline[score].to_numpy(float) - type_answers[score].to_numpy(float),
        )
        low, high = passage_interval(np.stack([values, drops], axis=1), type_answers["passage"].to_numpy(), resamples, seed)
        record |= {score: values.mean(), f"{score}_ci_low": low[0], f"{score}_ci_high": high[0]}
        record |= {f"{score}_drop": drops.mean(), f"{score}_drop_ci_low": low[1], f"{score}_drop_ci_high": high[1]}
        random_drops = baseline[score].mean() - answers[answers["draw"] > 0].groupby("draw")[score].mean().to_numpy(float)
        has_random_sets = len(random_drops) > 0
        record |= {
            f"{score}_random_drop": random_drops.mean() if has_random_sets else np.nan,
            f"{score}_random_min": random_drops.min() if has_random_sets else np.nan,
            f"{score}_random_max": random_drops.max() if has_random_sets else np.nan,
            f"{score}_random_share_below": float((random_drops < drops.mean()).mean()) if has_random_sets else np.nan,
        }
    return record


def passage_interval(
    values: npt.NDArray[np.float64], passages: npt.NDArray[np.integer], resamples: int, seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Interval of the means of columns over resampled passages.

    Args:
        values: [question, column].
        passages: [question].
        resamples, seed: of the bootstrap.

    Returns:
        Lower and upper ends, [column].
    """
    sums = pd.DataFrame(values).groupby(passages).sum().to_numpy(float)
    sizes = pd.Series(passages).groupby(passages).size().to_numpy(float)[:, None]
    return bootstrap_ratio(sums, sizes, resamples, seed)


def score_columns(table: pd.DataFrame, item: str) -> pd.DataFrame:
    """Heads, scores, drops, drops of random heads and the paper's values, as the pages of both tables show them.

    Args:
        table: of `ablation_table`.
        item: the table of the paper: Table 2 or Table 3.
    """
    published = load_published("guan2020")
    columns: dict[str, list[str]] = {"heads": [str(n) for n in table["heads"]]}
    rows = [row for _, row in table.iterrows()]
    for score, title in (("em", "EM"), ("f1", "F1")):
        items = ["Table 2" if row["row"] == BASELINE else item for row in rows]
        papers = [printed(published, name, score, row=int(row["row"])) for name, row in zip(items, rows, strict=True)]
        columns[title] = [_with_interval(row, score) for row in rows]
        columns[f"{title} drop"] = [_with_interval(row, f"{score}_drop") if row["row"] != BASELINE else "" for row in rows]
        columns[f"{title} random drop"] = [_random(row, score) for row in rows]
        columns[f"Paper {title}"] = [_paper_score(paper) for paper in papers]
    return pd.DataFrame(columns)


def _random(row: pd.Series, score: str) -> str:
    mean, least, most = (row[f"{score}_random_{name}"] for name in ("drop", "min", "max"))
    return f"{mean:.1f} ({least:.1f} to {most:.1f})" if pd.notna(mean) else ""


def _with_interval(row: pd.Series, name: str) -> str:
    return f"{row[name]:.1f} ({row[f'{name}_ci_low']:.1f} to {row[f'{name}_ci_high']:.1f})"


def _paper_score(paper: Published | None) -> str:
    return f"{paper.value:.2f}" if paper and isinstance(paper.value, int | float) else ""
