"""Pages of the fine-tuned taggers: whole and pruned scores, each head removed, heads removed one after the other."""

from __future__ import annotations

from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.names import MEAN, TEST, TOKEN
from attention_atlas.studies.stefanik2021.removal_tables import ABLATION, CUMULATIVE, FINE_TUNING

_FORMATS = dict.fromkeys(("value", "ci_low", "ci_high", "baseline"), ".1f")
_FORMATS |= dict.fromkeys(("delta", "delta_low", "delta_high"), "+.2f") | {"layer": "d", "head": "d"}


def fine_tuning(path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of whole and pruned scores, from `FINE_TUNING` of `removal_tables`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FINE_TUNING)
    notes = [
        label.line,
        "Scores in percent. token F1: words of keyphrases, whether they begin one or not; phrase F1: both ends right "
        "(seqeval). Pruned: heads removed from the one whose removal helps most on development documents, as many as score "
        "best there; pruned on test: ranked, stopped and reported on the test documents, as in the slides, which is "
        "optimistic. Intervals by bootstrap over documents; the mean is over seeds.",
    ]
    write_html_table(table, html_out, "Štefánik: fine-tuned taggers, whole and pruned", notes, formats=_FORMATS)


def ablation(path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of scores with each head removed, from `ABLATION` of `removal_tables`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ABLATION)
    test_means = table[(table["seed"] == MEAN) & (table["split"] == TEST) & (table["metric"] == TOKEN)]
    notes = [
        label.line,
        "Token F1 on test documents with one head removed, mean over seeds, largest gain first; all seeds, both scores and "
        "both sets of documents are in ablation.tsv. p: paired permutation test over "
        "documents, two-sided; p_adjusted: adjusted for all heads by the maximum statistic.",
    ]
    order = test_means.sort_values("delta", ascending=False, kind="stable")
    write_html_table(order, html_out, "Štefánik: each head removed", notes, formats=_FORMATS)


def cumulative_ablation(path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of heads removed one after the other, from `CUMULATIVE` of `removal_tables`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, CUMULATIVE)
    test_scores = table[(table["metric"] == TOKEN) & (table["split"] == TEST)]
    means = test_scores.groupby(["order", "percent", "heads_removed"], sort=False, as_index=False)["value"].mean()
    notes = [label.line, "Token F1 on test documents, in percent, mean over seeds (and over random orders)."]
    wide = means.pivot(index=["percent", "heads_removed"], columns="order", values="value").reset_index()
    write_html_table(
        wide,
        html_out,
        "Štefánik: heads removed one after the other",
        notes,
        formats=dict.fromkeys(wide.columns[2:], ".1f") | {"heads_removed": "d", "percent": "d"},
    )
