"""Rows of Tables 2 and 3: exact match and F1 under each row, their drop from the baseline, random heads as a control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.tables import read_parquet, read_table, write_table
from attention_atlas.methods.head_type_names import TITLES, UNNAMED
from attention_atlas.published.values import load_published, printed
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.studies.guan2020.ablation_rows import BASELINE, OTHERS, ROWS, TYPE, crowded_layers

SCORES = ("em", "f1")
_PAPER_TABLES = {"table2": "Table 2", "table3": "Table 3"}
_SCORES_NOTE = (
    "EM: exact match, in %; intervals: bootstrap over passages. Random: random sets of other heads, as many in each layer, "
    "treated in the same way; mean drop, minimum to maximum, and number of sets; empty where a layer has too few other heads. "
    "No model is retrained."
)


def ablation_table(
    name: str,
    answers_path: str | Path,
    types_path: str | Path,
    resamples: int,
    seed: int,
    out: str | Path,
) -> None:
    """Write the rows of a table: row, action, types, sentences, heads, n, passages, for em and f1 the score, its drop from the
    baseline, their intervals, and mean, least and largest drop of the random sets; random_sets, random_absent, unnamed,
    paper_em, paper_f1.

    Args:
        name: table2 or table3.
        answers_path: of `ablations.score_answers`.
        types_path: head_types.tsv.
        resamples, seed: of the bootstrap over passages.
        out: file to write; scores and drops in percent. em_random_share_below, f1_random_share_below: share of random sets with
            a smaller drop. random_sets: their number; random_absent: why there are none. unnamed: clusters of
            the row that do not fit their type. paper_em, paper_f1: the published scores of the row, in percent.

    Raises:
        AtlasError: the answers cannot be read.
    """
    scored = read_parquet(answers_path, ["row", "sentences", "drawn_from", "draw", "passage", *SCORES])
    baseline = scored[scored["row"] == BASELINE]
    types = read_table(types_path, ["layer", "head", "type", "cluster"])
    unnamed = unnamed_clusters(types)
    records = [_record(baseline, baseline, {"row": BASELINE, "heads": 0}, resamples, seed)]
    for row in ROWS:
        row_answers = scored[scored["row"] == row.number]
        heads = types[types["cluster"].isin(row.types)]
        for sentences in row_answers["sentences"].unique() if row.table == name else ():
            facts = {"row": row.number, "action": row.action, "types": "+".join(row.types), "sentences": sentences or None}
            facts |= {"heads": len(heads), "random_absent": too_few_others(heads, int(types["head"].max()))}
            facts["unnamed"] = "+".join(kind for kind in row.types if kind in unnamed) or None
            records.append(_record(row_answers[row_answers["sentences"] == sentences], baseline, facts, resamples, seed))
    table = pd.DataFrame(records)
    write_table(table.assign(**{f"paper_{score}": _paper_scores(table["row"], name, score) for score in SCORES}), out)


def _paper_scores(rows: pd.Series, name: str, score: str) -> list[float]:
    """The published score of each row, in percent; NaN where none can be read. The baseline is a row of the paper's Table 2.

    Args:
        rows: numbers of rows.
        name: table2 or table3.
        score: em or f1.
    """
    published = load_published("guan2020")
    items = ["Table 2" if row == BASELINE else _PAPER_TABLES[name] for row in rows]
    values = [printed(published, item, score, row=int(row)) for item, row in zip(items, rows, strict=True)]
    return [float(paper.value) if paper and isinstance(paper.value, int | float) else np.nan for paper in values]


def too_few_others(heads: pd.DataFrame, heads_a_layer: int) -> str | None:
    """Why there is no set of other heads with as many in each layer; None where there is one.

    Args:
        heads: heads of a row, layer from 1.
        heads_a_layer: heads of a layer.
    """
    if heads.empty:
        return "no heads"
    crowded = crowded_layers(heads["layer"], heads_a_layer)
    if not crowded:
        return None
    return f"too few other heads in {'layer' if len(crowded) == 1 else 'layers'} {', '.join(map(str, crowded))}"


def _record(answers: pd.DataFrame, baseline: pd.DataFrame, facts: dict[str, Any], resamples: int, seed: int) -> dict[str, Any]:
    type_answers = answers[answers["drawn_from"] == TYPE]
    random_answers = answers[answers["drawn_from"] == OTHERS]
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
        random_drops = baseline[score].mean() - random_answers.groupby("draw")[score].mean().to_numpy(float)
        has_random_sets = len(random_drops) > 0
        record |= {
            f"{score}_random_drop": random_drops.mean() if has_random_sets else np.nan,
            f"{score}_random_min": random_drops.min() if has_random_sets else np.nan,
            f"{score}_random_max": random_drops.max() if has_random_sets else np.nan,
            f"{score}_random_share_below": float((random_drops < drops.mean()).mean()) if has_random_sets else np.nan,
        }
    record |= {"random_sets": random_answers["draw"].nunique()}
    return record | {name: facts.get(name) for name in ("random_absent", "unnamed")}


def unnamed_clusters(types: pd.DataFrame) -> set[str]:
    """Clusters that do not fit the type that the naming leaves for them, of a table with columns type and cluster."""
    return set(types.loc[types["type"] == UNNAMED, "cluster"])


def passage_interval(
    values: npt.NDArray[np.float64], passages: npt.NDArray[np.integer], resamples: int, seed: int, level: float = 0.95
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Interval of the means of columns over resampled passages.

    Args:
        values: [question, column].
        passages: [question].
        resamples, seed: of the bootstrap.
        level: coverage.

    Returns:
        Lower and upper ends, [column].
    """
    sums = pd.DataFrame(values).groupby(passages).sum().to_numpy(float)
    sizes = pd.Series(passages).groupby(passages).size().to_numpy(float)[:, None]
    return bootstrap_ratio(sums, sizes, resamples, seed, level)


def scores_note(table: pd.DataFrame) -> str:
    """Number of questions behind the scores of a table of `ablation_table`, and the meaning of its columns."""
    first = table.iloc[0]
    return f"n = {first['n']} questions on {first['passages']} passages. {_SCORES_NOTE}"


def score_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Heads, scores, drops, drops of random heads and the paper's values, as the pages of both tables show them.

    Args:
        table: of `ablation_table`.
    """
    columns: dict[str, list[str]] = {"heads": [str(n) for n in table["heads"]]}
    rows = [row for _, row in table.iterrows()]
    for score, title in (("em", "EM"), ("f1", "F1")):
        columns[title] = [_with_interval(row, score) for row in rows]
        columns[f"{title} drop"] = [_with_interval(row, f"{score}_drop") if row["row"] != BASELINE else "" for row in rows]
        columns[f"{title} random drop"] = [_random(row, score) for row in rows]
        columns[f"Paper {title}"] = ["" if pd.isna(value) else f"{value:.2f}" for value in table[f"paper_{score}"]]
    if table["unnamed"].notna().any():
        columns["remark"] = [_unnamed(clusters) for clusters in table["unnamed"]]
    return pd.DataFrame(columns)


def _unnamed(clusters: str | float) -> str:
    if not isinstance(clusters, str):
        return ""
    titles = " and ".join(TITLES[cluster] for cluster in clusters.split("+"))
    return f"not {titles}: the cluster assigned to this type does not fit it"


def _random(row: pd.Series, score: str) -> str:
    mean, least, most = (row[f"{score}_random_{name}"] for name in ("drop", "min", "max"))
    if pd.isna(mean):
        return f"none: {row['random_absent']}" if pd.notna(row["random_absent"]) else ""
    number = int(row["random_sets"])
    return f"{mean:.1f} ({least:.1f} to {most:.1f}; {number} {'set' if number == 1 else 'sets'})"


def _with_interval(row: pd.Series, name: str) -> str:
    return f"{row[name]:.1f} ({row[f'{name}_ci_low']:.1f} to {row[f'{name}_ci_high']:.1f})"
