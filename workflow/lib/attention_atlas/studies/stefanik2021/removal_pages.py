"""Pages of the fine-tuned taggers: whole and pruned scores, each head removed, heads removed cumulatively."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.values import load_published, published_column
from attention_atlas.studies.stefanik2021.names import (
    ABLATION,
    CUMULATIVE,
    FINE_TUNING,
    MEAN,
    TEST,
    TOKEN,
    WHOLE,
    WITHOUT_HEADS,
)

_FORMATS = dict.fromkeys(("value", "ci_low", "ci_high", "baseline"), ".1f")
_FORMATS |= dict.fromkeys(("delta", "delta_low", "delta_high"), "+.2f") | {"layer": "d", "head": "d"}


def removal_warning(scores: pd.DataFrame) -> list[str]:
    """A warning where removals are uninformative: the taggers score as well with all heads removed as with none removed.

    That is so unless the 95 % interval of the difference lies below 0 (bootstrap over documents, mean over seeds, token F1 on
    test documents). A removal measures how much a tagger depends on a head; without a loss it may not use its heads at all.

    Args:
        scores: the table `FINE_TUNING`.

    Returns:
        The sentence; empty where removing all heads lowers the score.
    """
    whole, without = _whole_and_without(scores)
    if without["delta_high"] < 0:
        return []
    interval = f"{without['delta_low']:+.1f} to {without['delta_high']:+.1f}"
    return [
        "Warning: removals are uninformative about single heads here. With all heads removed the taggers score "
        f"{without['value']:.1f} % token F1, with none removed {whole['value']:.1f} %: a difference of {without['delta']:+.1f} "
        f"percentage points with a 95 % interval of {interval} (mean over seeds, n = {whole['documents']} test documents)."
    ]


def removal_remark(scores: pd.DataFrame) -> str:
    """`removal_warning` in a few words for a figure; empty where there is no warning."""
    whole, without = _whole_and_without(scores)
    if without["delta_high"] < 0:
        return ""
    return f"no significant loss with all heads removed ({whole['value']:.1f} to {without['value']:.1f} % token F1)"


def _whole_and_without(scores: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    rows = scores[(scores["seed"].astype(str) == MEAN) & (scores["split"] == TEST) & (scores["metric"] == TOKEN)]
    by_model = rows.set_index("model")
    return by_model.loc[WHOLE], by_model.loc[WITHOUT_HEADS]


def fine_tuning(path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of whole and pruned scores, from the table `FINE_TUNING`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FINE_TUNING)
    notes = [
        label.line,
        "Scores in percent. token F1: keyphrase words, whether they begin one or not; phrase F1: both boundaries "
        "right (seqeval). Pruned (the word of the slides): heads are removed, that is, their outputs are set to 0, in the "
        "order in which it helps most on development documents, up to the number that scores best there; pruned on test: "
        "ranked, stopped and reported on the test documents, as in the slides, which is optimistic; without heads: all heads "
        "removed. Intervals by bootstrap over documents; the mean is over seeds.",
        *removal_warning(table),
    ]
    slide = 'slide "Fine-tuning model and analysing heads"'
    table.insert(
        table.columns.get_loc("value") + 1,
        "slides",
        published_column(load_published("stefanik2021"), slide, "fine_tuning", "value", table),
    )
    formats = _FORMATS | {"slides": ".0f", "heads_removed": "d", "documents": "d"}
    write_html_table(
        table, html_out, "Štefánik: fine-tuned taggers, full and pruned", notes, {"slides": "slides: value"}, formats
    )


def ablation(path: str | Path, fine_tuning_path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of scores with each head removed, from the tables `ABLATION` and `FINE_TUNING`.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ABLATION)
    test_means = table[(table["seed"] == MEAN) & (table["split"] == TEST) & (table["metric"] == TOKEN)]
    notes = [
        label.line,
        "Token F1 on test documents with one head removed, mean over seeds, largest gain first; all seeds, both scores and "
        "both sets of documents are in ablation.tsv. p: paired permutation test over "
        "documents, two-sided; p_adjusted: adjusted for all heads by the maximum statistic.",
        *removal_warning(read_table(fine_tuning_path, FINE_TUNING)),
    ]
    order = test_means.sort_values("delta", ascending=False, kind="stable")
    write_html_table(order, html_out, "Štefánik: each head removed", notes, formats=_FORMATS)


def cumulative_ablation(path: str | Path, fine_tuning_path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of cumulative removal, from the tables `CUMULATIVE` and `FINE_TUNING`.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, CUMULATIVE)
    test_scores = table[(table["metric"] == TOKEN) & (table["split"] == TEST)]
    means = test_scores.groupby(["order", "percent", "heads_removed"], sort=False, as_index=False)["value"].mean()
    notes = [
        label.line,
        "Token F1 on test documents, in percent, mean over seeds (and over random orders).",
        *removal_warning(read_table(fine_tuning_path, FINE_TUNING)),
    ]
    wide = means.pivot(index=["percent", "heads_removed"], columns="order", values="value").reset_index()
    write_html_table(
        wide,
        html_out,
        "Štefánik: cumulative removal of heads",
        notes,
        formats=dict.fromkeys(wide.columns[2:], ".1f") | {"heads_removed": "d", "percent": "d"},
    )
