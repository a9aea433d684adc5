"""Published values of the slides beside ours, and what they say of attention, put to this run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import spearmanr

from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import read_table
from attention_atlas.published.compare import NO, Measured, compare
from attention_atlas.published.pages import claim_verdict, write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.stefanik2021.names import (
    EXACT,
    F1_M,
    HEAD,
    MEAN,
    METHOD_TITLES,
    PRUNED,
    PRUNED_ON_TEST,
    REGRESSION,
    TAGGER,
    TEST,
    TOKEN,
    WHOLE,
)

_CORPUS = "the slides name no corpus and do not say whether F1 is of words or phrases"
_SUM = "a sum over an unnamed set of words with unknown scaling; ours by the same formula over these words"
_ENTROPY = re.compile(r"l_(\d+)_h_(\d+)_max")


@dataclass(frozen=True)
class Tables:
    """Files that the comparison reads: the study's tables by their names."""

    relative_attention: str | Path
    head_ranking: str | Path
    logistic_regression: str | Path
    detectors: str | Path
    fine_tuning: str | Path
    ablation: str | Path
    baselines: str | Path


def comparison(
    tables: Tables,
    setting: Setting,
    tagging: Setting,
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: the run's tables.
        setting: model and documents whose attention was looked at.
        tagging: model and test documents of the fine-tuned taggers.
        out, html_out: every published value beside ours.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    read = {name: read_table(path) for name, path in vars(tables).items()}
    published = load_published("stefanik2021")
    frame = compare(published, dict(_measured(read, published)))
    lines = [setting.line, tagging.line]
    note = "No value can be compared: the slides name neither corpus nor settings. Ours stand beside them for their size alone."
    write_comparison(frame, out, html_out, "Štefánik: published values and this run", lines, note)
    notes = [*lines, "What the slides say or suggest of attention, put to this run's model."]
    write_claims(_claims(read), claims_out, claims_html, "Štefánik: claims and this run", notes)


def _score(read: Mapping[str, pd.DataFrame], model: str) -> pd.Series:
    table = read["fine_tuning"]
    own = table[(table["seed"].astype(str) == MEAN) & (table["model"] == model)]
    return own[(own["split"] == TEST) & (own["metric"] == TOKEN)].iloc[0]


def _measured(read: Mapping[str, pd.DataFrame], published: Iterable[str]) -> Iterator[tuple[str, Measured]]:
    for identifier, model in (("s21.f1", WHOLE), ("s21.f1_pruned", PRUNED)):
        row = _score(read, model)
        ends = {"ci_low": row["ci_low"] / 100, "ci_high": row["ci_high"] / 100, "n": int(row["documents"])}
        yield identifier, Measured(float(row["value"]) / 100, NO, f"{_CORPUS}; ours: token F1, mean of seeds", **ends)
    others = read["baselines"]
    others = others[(others["metric"] == EXACT) & (others["method"] != TAGGER)]
    best = others.loc[others["value"].idxmax()]
    why = f"{_CORPUS}; ours: phrase F1 of {METHOD_TITLES[best['method']]}, the best way without fine-tuning"
    ends = {"ci_low": best["ci_low"] / 100, "ci_high": best["ci_high"] / 100, "n": int(best["documents"])}
    yield "s21.sota", Measured(float(best["value"]) / 100, NO, why, **ends)
    ranking = read["head_ranking"].set_index(["layer", "head"])
    for identifier in published:
        found = _ENTROPY.search(identifier)
        if found is None:
            continue
        # The slides count from 0.
        place = int(found[1]) + 1, int(found[2]) + 1
        if place in ranking.index:
            row = ranking.loc[place]
            why = f"{_SUM}; layer {place[0]}, head {place[1]} counted from 1, rank {row['slide_rank']:.0f} of {len(ranking)}"
            yield identifier, Measured(float(row["slide_entropy"]), NO, why, n=int(row["n"]))
        else:
            yield identifier, Measured(None, NO, f"this model has no layer {place[0]} with a head {place[1]} (counted from 1)")


def _claims(read: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    relative = read["relative_attention"]
    own = relative[relative["way"] == "mean"]
    more, less = int((own["ci_low"] > 0).sum()), int((own["ci_high"] < 0).sum())
    claim = "Some heads attend to keyphrases more than to other words (interval above 0)"
    yield claim, f"{more} of {len(own)} heads more, {less} less, in the mean", claim_verdict(more > 0)
    yield _detects(read["detectors"].set_index("detector"))
    ranking = read["head_ranking"]
    rho = spearmanr(ranking["slide_entropy"], ranking["cross_entropy"]).statistic
    claim = "The slides' uncalibrated ranking of heads is that of calibrated cross-entropy (Spearman above 0.5)"
    yield claim, f"Spearman {rho:.2f} over {len(ranking)} heads", claim_verdict(rho > 0.5)
    weights = read["logistic_regression"]
    rho = spearmanr(weights["coefficient"].abs(), weights["permutation_importance"]).statistic
    claim = "Raw coefficients of the regression rank heads by importance (Spearman of their sizes with permutation above 0.8)"
    yield claim, f"Spearman {rho:.2f} over {len(weights)} heads", claim_verdict(rho > 0.8)
    for model, claim in (
        (PRUNED, "Removing the worst heads improves F1 on documents that nothing was chosen on (interval above 0)"),
        (PRUNED_ON_TEST, "The same, ranked and stopped on the documents that are reported, as in the slides"),
    ):
        row = _score(read, model)
        words = f"{row['delta']:+.2f} points of token F1 [{row['delta_low']:+.2f}, {row['delta_high']:+.2f}], "
        words += f"{row['heads_removed']:.1f} heads removed in the mean"
        yield claim, words, claim_verdict(row["delta_low"] > 0)
    table = read["ablation"]
    table = table[(table["seed"].astype(str) == MEAN) & (table["split"] == TEST) & (table["metric"] == TOKEN)]
    found = int((table["p_holm"] < 0.05).sum())
    claim = "The removal of some single head changes token F1 (p < 0.05 after Holm)"
    yield claim, f"{found} of {len(table)} heads; {int((table['p'] < 0.05).sum())} without correction", claim_verdict(found > 0)
    scores = read["baselines"].pivot(index="method", columns="metric", values="value")[F1_M]
    attention = scores[[HEAD, REGRESSION]].max()
    others = scores.drop([HEAD, REGRESSION, TAGGER], errors="ignore")
    claim = "Attention without fine-tuning finds keyphrases better than position, TF-IDF, YAKE and embeddings (F1@M)"
    words = f"attention {attention:.1f}; best of the others {others.max():.1f} ({METHOD_TITLES[str(others.idxmax())]})"
    yield claim, words, claim_verdict(bool(attention > others.max()))


def _detects(detectors: pd.DataFrame) -> tuple[str, str, str]:
    both: dict[str, Any] = {name: float(detectors.loc[name, "auc"]) for name in (HEAD, REGRESSION)}
    claim = "All heads together detect keyphrases better than the best one (AUC on other documents)"
    words = f"all heads {both[REGRESSION]:.3f}, best head {both[HEAD]:.3f}"
    return claim, words, claim_verdict(both[REGRESSION] > both[HEAD])
