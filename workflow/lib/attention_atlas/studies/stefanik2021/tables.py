"""Tables of Štefánik's study: what the slides say or suggest, their values beside ours, and dropped documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.dropped import RecordsByCorpus, dropped_records
from attention_atlas.methods.head_tables import DOCUMENTS
from attention_atlas.published.compare import Claim, claims_table, compare, value_table
from attention_atlas.published.matching import measure
from attention_atlas.published.values import load_published, published_rows
from attention_atlas.stats.simultaneous import largest_size_interval
from attention_atlas.studies.stefanik2021.head_measures import ATTENTION_METHODS, METHOD_TITLES, METRICS, removal_caution
from attention_atlas.workflow.shown import table

_ALPHA = 0.05
_F1 = {"token_f1": "token F1", "phrase_f1": "phrase F1"}
"""The slides do not say which of the two their F1 is: what they say of it is tested for each."""


@table(
    title="What the slides say or suggest, tested on this run",
    reads=(
        "detection/relative_attention",
        "detection/detectors",
        "detection/rank_correlations",
        "removal_tables/fine_tuning",
        "removal_tables/ablation",
        "extraction/baselines",
    ),
    labels=("documents", "tagging"),
    needs=("documents", "development", "test"),
    resources=("published/fixed_claims.tsv",),
)
def claims(
    relative_attention: pd.DataFrame,
    detectors: pd.DataFrame,
    rank_correlations: pd.DataFrame,
    fine_tuning: pd.DataFrame,
    ablation: pd.DataFrame,
    baselines: pd.DataFrame,
) -> Table:
    """What the slides say or suggest about attention and keyphrases, tested on this run's model."""
    slides = "The slides' uncalibrated ranking of heads agrees with the ranking by calibrated cross-entropy "
    slides += "(Spearman above 0.5)"
    coefficients = "Raw coefficients of the regression rank heads by importance "
    coefficients += "(Spearman of their sizes with permutation importance above 0.8)"
    tested = [
        _relative_attention(relative_attention),
        _all_heads(detectors),
        _rank_correlation(rank_correlations, "slide_entropy", 0.5, slides),
        _rank_correlation(rank_correlations, "coefficients", 0.8, coefficients),
    ]
    tested += [_worst_heads(fine_tuning, metric) for metric in METRICS]
    tested += [_single_heads(ablation, metric, slide_gain()) for metric in METRICS]
    shown, caution = claims_table([*tested, _attention(baselines)]), removal_caution(fine_tuning)
    return replace(shown, notes=[*([f"Warning: {caution}."] if caution else []), *shown.notes])


def slide_gain() -> float:
    """Percentage points of F1 that the slides report for the removal of heads."""
    pruned, whole = published_rows("stefanik2021", ["s21.f1_pruned", "s21.f1"])["value"]
    return round(float(pruned - whole), 6)


def _numbers(row: pd.Series, name: str) -> tuple[float, float, float]:
    """A statistic and the ends of its interval."""
    return float(row[name]), float(row[f"{name}_low"]), float(row[f"{name}_high"])


def _of_mean(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Rows of the mean over seeds."""
    return table[(table["seed"] == "mean") & (table["metric"] == metric)]


def _relative_attention(table: pd.DataFrame) -> Claim:
    heads = table[table["reduction"] == "mean"]
    more, less, raw_more, raw_less = (
        int((sign * heads[f"{name}_{end}"] > 0).sum())
        for name in ("controlled", "adjusted")
        for sign, end in ((1, "low"), (-1, "high"))
    )
    # The intervals are simultaneous for all heads, so their ends bound the largest value.
    value, least, most = (100 * float(heads[f"controlled{end}"].max()) for end in ("", "_low", "_high"))
    return Claim(
        "Some heads attend to keyphrase words more than to other words",
        f"{more} of {len(heads)} heads more than position, frequency and form of words predict, {less} less; without this "
        f"control, {raw_more} more, {raw_less} less; intervals are for all heads at once",
        "relative attention beyond what position, frequency and form of words predict, of the head with the largest, "
        "percentage points",
        *(value, least, most, int(heads["n"].iloc[0]), DOCUMENTS),
    )


def _all_heads(table: pd.DataFrame) -> Claim:
    detectors = table.set_index("detector")
    row, auc = detectors.loc["regression"], detectors["document_auc"]
    return Claim(
        "All heads together detect keyphrase words better than the best one",
        f"all heads {auc['regression']:.3f}, best head {auc['best_head']:.3f}, each fitted to or selected on held-out documents"
        f"; a control, position, frequency and form of words, {auc['word_statistics']:.3f}",
        "difference of AUC within a document, mean",
        *(*_numbers(row, "difference"), int(row["n"]), DOCUMENTS),
    )


def _rank_correlation(table: pd.DataFrame, name: str, threshold: float, statement: str) -> Claim:
    row = table.set_index("correlation").loc[name]
    heads, groups = int(row["heads"]), int(row["groups"])
    words = f"Spearman {row['value']:.2f} over {heads} heads"
    words += f"; jackknife over {groups} groups of documents" if groups else "; too few documents for an interval"
    ends = float(row["value"]), float(row["ci_low"]), float(row["ci_high"])
    return Claim(statement, words, "Spearman correlation over heads", *ends, int(row["documents"]), DOCUMENTS, threshold)


def _worst_heads(table: pd.DataFrame, metric: str) -> Claim:
    by_model = _of_mean(table, metric).set_index("model")
    row, optimistic = by_model.loc["pruned"], by_model.loc["pruned_on_test"]
    return Claim(
        f"Removing the worst heads improves {_F1[metric]}",
        f"heads ranked and their number chosen by token F1 on development documents, {row['heads_removed']:.1f} removed on "
        f"average over seeds; ranked and chosen on the test documents, as in the slides: {optimistic['delta']:+.2f}, which is "
        "optimistic",
        f"change of {_F1[metric]} on test documents, percentage points",
        *(*_numbers(row, "delta"), int(row["documents"]), DOCUMENTS),
    )


def _single_heads(table: pd.DataFrame, metric: str, gain: float) -> Claim:
    rows = _of_mean(table, metric)
    significant = int((rows["p_adjusted"] < _ALPHA).sum())
    return Claim(
        f"Removing at least one single head changes {_F1[metric]} by more than {gain:.1f} percentage points (the gain of "
        "removing many heads in the slides)",
        f"{significant} of {len(rows)} heads with a significant change (p < {_ALPHA}, adjusted for all heads); intervals are "
        "for all heads at once",
        f"largest change of {_F1[metric]} on test documents, percentage points",
        float(rows["delta"].abs().max()),
        *largest_size_interval(rows["adjusted_low"].to_numpy(), rows["adjusted_high"].to_numpy()),
        int(rows["documents"].iloc[0]),
        DOCUMENTS,
        gain,
    )


def _attention(table: pd.DataFrame) -> Claim:
    scores = table[table["metric"] == "f1_at_m"].set_index("method")
    method = str(scores.loc[list(ATTENTION_METHODS), "development"].idxmax())
    row, reference = scores.loc[method], str(scores["reference"].iloc[0])
    return Claim(
        "Attention without fine-tuning finds keyphrases better than methods that do not read attention weights (F1@M)",
        f"{METHOD_TITLES[method]} {row['value']:.1f}, {METHOD_TITLES[reference]} {scores.loc[reference, 'value']:.1f}; both "
        f"are the best of their kind on {int(row['development_documents'])} development documents",
        "difference of F1@M on test documents, percentage points",
        *(*_numbers(row, "difference"), int(row["documents"]), DOCUMENTS),
    )


@table(
    title="Every published number beside this run's",
    reads=("detection/head_ranking", "removal_tables/fine_tuning", "extraction/baselines"),
    labels=("documents", "tagging"),
    needs=("documents", "development", "test"),
)
def comparison(
    head_ranking: pd.DataFrame, fine_tuning: pd.DataFrame, baselines: pd.DataFrame, labels: Mapping[str, RunLabel]
) -> Table:
    """Every published number of the slides beside what this run measured. None can be compared: the slides name neither corpus
    nor settings. Ours are shown only for their size.
    """
    # The run's counterpart of a state of the art: the method that is best on test documents.
    best = baselines[baselines["metric"] == "phrase_f1_all_occurrences"].nlargest(1, "value")
    frames = {"head_ranking": head_ranking, "fine_tuning": fine_tuning}
    frames["best_extractor"] = best.assign(title=best["method"].map(METHOD_TITLES))
    published = load_published("stefanik2021")
    return value_table(compare(published, measure(published, frames, labels)))


@table(title="Dropped documents, by reason", gathers=("shards_by_corpus",), needs=("documents",))
def dropped(shards_by_corpus: RecordsByCorpus) -> Table:
    """Number of documents kept and dropped in each corpus of the study, by reason."""
    return dropped_records(shards_by_corpus)
