"""Tables 5 and 6: each layer with one head kept, which is selected on one corpus and reported on another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_table
from attention_atlas.methods.names import CLASSIFICATION, HEAD, TRANSLATION
from attention_atlas.published.values import load_published, published_column
from attention_atlas.studies.michel2019.ablation_tables import PUBLISHED_DELTA
from attention_atlas.studies.michel2019.claim_statistics import UNCHANGED
from attention_atlas.studies.michel2019.effects import (
    BLEU,
    TESTS,
    MaskedScores,
    best_heads,
    effect_rows,
    few_sentences,
    one_head_left,
    units_note,
)
from attention_atlas.studies.michel2019.names import KIND_TITLES, LEVEL, PAPER_DELTA
from attention_atlas.studies.michel2019.translation_lengths import overlong, overlong_note

COLUMNS = [
    *("kind", "layer", "head", "metric", "score", "baseline", "delta", "ci_low", "ci_high", *TESTS, "n"),
    *("selection_delta", "selection_n", "unit", PUBLISHED_DELTA),
]
TABLE5 = [*COLUMNS, "overlong", "overlong_unmasked"]
"""overlong: translations of the row, of the n, and of the full model (`translation_lengths`)."""


def table5(
    masked: str | Path,
    heldout: str | Path,
    label: RunLabel,
    selection_label: RunLabel,
    translator: str,
    resamples: int,
    seed: int,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write Table 5, columns `TABLE5`: the head is chosen as in Table 2 and reported on a further corpus.

    Args:
        masked: table of `masked_answers` on the corpus that heads are chosen on.
        heldout: table of `heldout_answers` on the corpus that is reported.
        label, selection_label: model and corpus of the reported scores, and of the selection of heads.
        translator: the translation model in words.
        resamples, seed: of the bootstrap.
        out, html_out: files to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    selection, measured = (one_head_left(path, TRANSLATION) for path in (masked, heldout))
    rows = heldout_rows(selection, measured, resamples, seed)
    unmasked, under_masks = overlong(measured)
    masks = pd.MultiIndex.from_frame(measured.keys[HEAD]).get_indexer(pd.MultiIndex.from_frame(rows[HEAD]))
    rows = rows.assign(overlong=under_masks[masks], overlong_unmasked=unmasked)[TABLE5]
    lengths = overlong_note(unmasked, rows["overlong"].median(), int(rows["n"].iloc[0]))
    _write(5, rows, (label, selection_label), [f"Translation model: {translator}.", lengths], out, html_out)


def table6(
    masked: str | Path,
    heldout: str | Path,
    label: RunLabel,
    selection_label: RunLabel,
    resamples: int,
    seed: int,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write Table 6, columns `COLUMNS`: the head is chosen on a further corpus and reported on that of Table 3.

    Args:
        masked: table of `masked_answers` on the corpus that is reported.
        heldout: table of `heldout_answers` on the corpus that heads are chosen on.
        label, selection_label, resamples, seed, out, html_out: as those of `table5`.

    Raises:
        AtlasError: a table cannot be used.
    """
    measured, selection = (one_head_left(path, CLASSIFICATION) for path in (masked, heldout))
    rows = heldout_rows(selection, measured, resamples, seed)
    _write(6, rows, (label, selection_label), [], out, html_out)


def heldout_rows(selection: MaskedScores, measured: MaskedScores, resamples: int, seed: int) -> pd.DataFrame:
    """One row for each kind and layer, columns `COLUMNS`.

    selection_delta, selection_n: the difference on the corpus that the head is chosen on, and its examples. published_delta:
    the paper's difference of the same kind and layer, of its own model.

    Args:
        selection: scores with each head kept alone, on the corpus that heads are chosen on.
        measured: the same with these heads at least, on the corpus that is reported.
        resamples, seed: of the bootstrap.
    """
    chosen = pd.DataFrame(best_heads(selection), columns=HEAD)
    index = pd.MultiIndex.from_frame(chosen)
    in_measured, in_selection = (pd.MultiIndex.from_frame(s.keys[HEAD]).get_indexer(index) for s in (measured, selection))
    rows = effect_rows(measured.only(in_measured), resamples, seed)
    rows = rows.assign(selection_delta=selection.deltas[in_selection], selection_n=len(selection.base))
    number = 5 if measured.metric == BLEU else 6
    paper = published_column(load_published("michel2019"), f"Table {number}", f"table{number}", "delta", rows)
    return rows.assign(**{PUBLISHED_DELTA: paper})[COLUMNS]


def baseline_warning(rows: pd.DataFrame) -> list[str]:
    """A warning where the full model's score on the reported examples is probably low by chance; empty where it is not.

    Heads are selected to be the best on other examples, so on the reported ones they should lose more. If more than half of the
    layers lose less (column delta above selection_delta), the score that all rows are compared with is the likely reason.

    Args:
        rows: of `heldout_rows`.
    """
    better = int((rows["delta"] > rows["selection_delta"] + UNCHANGED).sum())
    if 2 * better <= len(rows):
        return []
    above = int((rows["delta"] > UNCHANGED).sum())
    return [
        f"Warning: {better} of {len(rows)} layers lose less on the reported examples than on those that selected their heads, "
        f"where selection favours them, and {above} score above the full model. All differences share the full model's score "
        f"({rows['baseline'].iloc[0]:.2f}), which is probably low on these examples: the differences are too favourable."
    ]


def _write(
    number: int,
    rows: pd.DataFrame,
    labels: tuple[RunLabel, RunLabel],
    more_notes: Sequence[str],
    out: str | Path,
    html_out: str | Path,
) -> None:
    write_table(rows, out)
    first, kinds = rows.iloc[0], rows["kind"].nunique() > 1
    columns = ["layer", "head", "score", "delta", "ci_low", "ci_high", "selection_delta", "p", "p_adjusted"]
    shown = rows[[*(["kind"] if kinds else []), *columns]].copy()
    shown.insert(shown.columns.get_loc("delta") + 1, "paper_delta", rows[PUBLISHED_DELTA])
    if kinds:
        shown = shown.assign(kind=[KIND_TITLES[kind] for kind in shown["kind"]])
    worse = int(((rows["p"] < LEVEL) & (rows["delta"] < 0)).sum())
    notes = [
        labels[0].line,
        *baseline_warning(rows),
        f"Each layer with one head kept, selected on {labels[1].corpus} (n = {first['selection_n']}, selection_delta): "
        f"{first['metric']} and its difference from the full model ({first['baseline']:.2f}, n = {first['n']}), on a scale of "
        f"0 to 100, with intervals by bootstrap over examples. {worse} of {len(rows)} layers are worse with p < {LEVEL}. "
        "p_adjusted: adjusted for the layers by the maximum statistic.",
        units_note(first["metric"]),
        *more_notes,
        *few_sentences(first["metric"], int(first["n"])),
    ]
    formats = dict.fromkeys(("layer", "head"), "d") | dict.fromkeys((*columns[2:-2], "paper_delta"), ".2f")
    formats |= dict.fromkeys(columns[-2:], ".3f")
    task = "translation" if number == 5 else "classification"
    title = f"Michel et al. 2019, Table {number}: one head per layer, selected on other data, {task}"
    write_html_table(shown, html_out, title, notes, PAPER_DELTA, formats)
