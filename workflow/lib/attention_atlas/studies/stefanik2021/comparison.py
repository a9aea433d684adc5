"""Published values of the slides with this run's, and the slides' claims about attention tested on this run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import spearmanr

from attention_atlas.io.run_label import RunLabel
from attention_atlas.published.claims import claim_verdict
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import measure, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
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
)
from attention_atlas.studies.stefanik2021.removal_pages import removal_warning


def comparison(
    tables: Mapping[str, Any],
    label: RunLabel,
    tagging: RunLabel,
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file.
        label: model and documents whose attention was extracted.
        tagging: model and test documents of the fine-tuned taggers.
        out, html_out: every published value with this run's.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    frames["best_baseline"] = _best_baseline(frames["baselines"])
    published = load_published("stefanik2021")
    frame = compare(published, measure(published, frames, {"documents": label, "tagging": tagging}))
    lines = [label.line, tagging.line]
    note = "No value can be compared: the slides name neither corpus nor settings. Ours stand beside them for their size alone."
    write_comparison(frame, out, html_out, "Štefánik: published values and this run", lines, note)
    warning = removal_warning(frames["fine_tuning"])
    notes = [*lines, "What the slides say or suggest of attention, tested on this run's model.", *warning]
    write_claims(_claims(frames), claims_out, claims_html, "Štefánik: claims and this run", notes)


def _best_baseline(baselines: pd.DataFrame) -> pd.DataFrame:
    """The row of the best method without fine-tuning, with its title."""
    untrained = baselines[(baselines["metric"] == EXACT) & (baselines["method"] != TAGGER)]
    return untrained.nlargest(1, "value").assign(title=lambda rows: rows["method"].map(METHOD_TITLES))


def _score(frames: Mapping[str, pd.DataFrame], model: str) -> pd.Series:
    table = frames["fine_tuning"]
    means = table[(table["seed"].astype(str) == MEAN) & (table["model"] == model)]
    return means[(means["split"] == TEST) & (means["metric"] == TOKEN)].iloc[0]


def _claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    relative = frames["relative_attention"]
    head_rows = relative[relative["reduction"] == "mean"]
    more, less = int((head_rows["ci_low"] > 0).sum()), int((head_rows["ci_high"] < 0).sum())
    claim = "Some heads attend to keyphrases more than to other words (interval above 0)"
    yield claim, f"{more} of {len(head_rows)} heads more, {less} less, in the mean", claim_verdict(more > 0)
    yield _detection_claim(frames["detectors"].set_index("detector"))
    ranking = frames["head_ranking"]
    rho = spearmanr(ranking["slide_entropy"], ranking["cross_entropy"]).statistic
    claim = "The slides' uncalibrated ranking of heads is that of calibrated cross-entropy (Spearman above 0.5)"
    yield claim, f"Spearman {rho:.2f} over {len(ranking)} heads", claim_verdict(rho > 0.5)
    weights = frames["logistic_regression"]
    rho = spearmanr(weights["coefficient"].abs(), weights["permutation_importance"]).statistic
    claim = "Raw coefficients of the regression rank heads by importance (Spearman of their sizes with permutation above 0.8)"
    yield claim, f"Spearman {rho:.2f} over {len(weights)} heads", claim_verdict(rho > 0.8)
    for model, claim in (
        (PRUNED, "Removing the worst heads improves F1 on documents that nothing was chosen on (interval above 0)"),
        (PRUNED_ON_TEST, "The same, ranked and stopped on the documents that are reported, as in the slides"),
    ):
        row = _score(frames, model)
        words = f"{row['delta']:+.2f} points of token F1 [{row['delta_low']:+.2f}, {row['delta_high']:+.2f}], "
        words += f"{row['heads_removed']:.1f} heads removed in the mean"
        yield claim, words, claim_verdict(row["delta_low"] > 0)
    table = frames["ablation"]
    table = table[(table["seed"].astype(str) == MEAN) & (table["split"] == TEST) & (table["metric"] == TOKEN)]
    significant = int((table["p_adjusted"] < 0.05).sum())
    claim = "The removal of some single head changes token F1 (p < 0.05, adjusted for all heads)"
    words = f"{significant} of {len(table)} heads; {int((table['p'] < 0.05).sum())} unadjusted"
    yield claim, words, claim_verdict(significant > 0)
    scores = frames["baselines"].pivot(index="method", columns="metric", values="value")[F1_M]
    attention = scores[[HEAD, REGRESSION]].max()
    baselines = scores.drop([HEAD, REGRESSION, TAGGER], errors="ignore")
    claim = "Attention without fine-tuning finds keyphrases better than position, TF-IDF, YAKE and embeddings (F1@M)"
    words = f"attention {attention:.1f}; best of the others {baselines.max():.1f} ({METHOD_TITLES[str(baselines.idxmax())]})"
    yield claim, words, claim_verdict(bool(attention > baselines.max()))


def _detection_claim(detectors: pd.DataFrame) -> tuple[str, str, str]:
    auc: dict[str, Any] = {name: float(detectors.loc[name, "auc"]) for name in (HEAD, REGRESSION)}
    claim = "All heads together detect keyphrases better than the best one (AUC on other documents)"
    words = f"all heads {auc[REGRESSION]:.3f}, best head {auc[HEAD]:.3f}"
    return claim, words, claim_verdict(auc[REGRESSION] > auc[HEAD])
