"""Tables 2 and 3: each layer with only its best head kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.published.values import load_published, published_column
from attention_atlas.studies.michel2019.ablation_tables import BEST, PUBLISHED_DELTA
from attention_atlas.studies.michel2019.effects import few_sentences, units_note
from attention_atlas.studies.michel2019.names import KIND_TITLES, LEVEL, PAPER_DELTA

_ONE_ANSWER = "The full model gives the same answer to all examples: changes of its score say nothing about its heads."


def table2(path: str | Path, label: RunLabel, translator: str, out: str | Path, html_out: str | Path) -> None:
    """Write Table 2, `BEST` of the translation model and published_delta, and its page.

    Args:
        path: `BEST` of `ablation_tables`.
        label: model and corpus of the run.
        translator: the translation model in words.
        out, html_out: files to write.

    Raises:
        AtlasError: the table cannot be used.
    """
    _write(path, 2, [label.line, f"Translation model: {translator}."], out, html_out)


def table3(path: str | Path, label: RunLabel, out: str | Path, html_out: str | Path) -> None:
    """Write Table 3, `BEST` of the classifier and published_delta, and its page.

    Args:
        path, label, out, html_out: as those of `table2`.

    Raises:
        AtlasError: the table cannot be used.
    """
    _write(path, 3, [label.line], out, html_out)


def _write(path: str | Path, number: int, lines: Sequence[str], out: str | Path, html_out: str | Path) -> None:
    best = read_table(path, BEST)
    several_kinds = best["kind"].nunique() > 1
    columns = ["layer", "head", "score", "delta", "ci_low", "ci_high", "heldout_delta", "p", "p_adjusted"]
    shown = best[[*(["kind"] if several_kinds else []), *columns]].copy()
    paper = published_column(load_published("michel2019"), f"Table {number}", f"table{number}", "delta", best)
    write_table(best.assign(**{PUBLISHED_DELTA: paper}), out)
    shown.insert(shown.columns.get_loc("delta") + 1, "paper_delta", paper)
    if several_kinds:
        shown = shown.assign(kind=[KIND_TITLES[kind] for kind in shown["kind"]])
    first = best.iloc[0]
    worse = int(((best["p"] < LEVEL) & (best["delta"] < 0)).sum())
    notes = [
        *lines,
        f"Each layer with only its best head kept: {first['metric']} and its difference from the full model "
        f"({first['baseline']:.2f}, n = {first['n']}), on a scale of 0 to 100, with intervals by bootstrap over examples. "
        f"{worse} of {len(best)} layers are worse with p < {LEVEL} (uncorrected, as in the paper).",
        "heldout_delta: the head is selected on one half of the examples and measured on the other, mean of both directions; "
        "the paper selects and reports on the same examples. p_adjusted: adjusted by the maximum statistic for all heads of "
        "all layers, from which the best ones are selected.",
        units_note(first["metric"]),
        *few_sentences(first["metric"], int(first["n"])),
        *([_ONE_ANSWER] if first["distinct_answers"] == 1 else []),
    ]
    formats = dict.fromkeys(("layer", "head"), "d") | dict.fromkeys((*columns[2:-2], "paper_delta"), ".2f")
    formats |= dict.fromkeys(columns[-2:], ".3f")
    task = "translation" if several_kinds else "classification"
    write_html_table(
        shown, html_out, f"Michel et al. 2019, Table {number}: one head per layer, {task}", notes, PAPER_DELTA, formats
    )
