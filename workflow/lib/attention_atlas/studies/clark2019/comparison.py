"""Every published number of Clark et al. (2019) beside what a run measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.html_tables import write_html_table
from attention_atlas.published.compare import CLOSE, EXACT, NO, QUALITATIVE, Measured, compare
from attention_atlas.published.values import load_published
from attention_atlas.studies.clark2019.dependencies import ALL
from attention_atlas.studies.clark2019.setting import Setting
from attention_atlas.tables import read_table, write_table

MODEL, SEGMENTS, TREEBANK = "bert-base-uncased", "wikipedia-segments", "wsj-sd-dev"
# What the authors' notebook has in place of slips in the paper's Table 1.
_CORRECTED = {"t1_auxpass_acc": "nb_t1_auxpass_acc", "t1_auxpass_baseline": "nb_t1_auxpass_baseline"}
_BROAD_ENTROPY = 3.8
_NOT_HERE = {
    "Table 2": "coreference (Table 2) is not measured in this run",
    "Fig 5 caption": "coreference (Table 2) is not measured in this run",
    "Table 3": "probing classifiers (Table 3) are not measured in this run",
    "notebook probe": "probing classifiers (Table 3) are not measured in this run",
    "GitHub issue 17": "probing classifiers (Table 3) are not measured in this run",
    "Section 3.2 / Fig 3": "gradients (Figure 3) are not measured in this run",
    "notebook Fig 6": "clustering (Figure 6) is not measured in this run",
    "replication": "a third party's number on other data; listed for the record",
}


def comparison(
    surface_path: str | Path,
    summary_path: str | Path,
    relations_path: str | Path,
    heads_path: str | Path,
    treebank_path: str | Path,
    segments_setting: Setting,
    treebank_setting: Setting,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write comparison.tsv and its page.

    Args:
        surface_path, summary_path: tables of the segments.
        relations_path, heads_path, treebank_path: tables of the treebank.
        segments_setting, treebank_setting: what was looked at.
        out, html_out: files to write.
    """
    published = load_published("clark2019")
    tables = _Tables(
        surface=read_table(surface_path, ["measure", "layer", "head", "value", "ci_low", "ci_high", "n"]),
        summary=read_table(summary_path).set_index("quantity")["value"],
        relations=read_table(relations_path).set_index("relation"),
        counts=read_table(heads_path).drop_duplicates("relation").set_index("relation")["n"],
        treebank=read_table(treebank_path).set_index("quantity")["value"],
    )
    measured = {
        **_table1(tables, published, treebank_setting),
        **_treebank(tables, published, treebank_setting),
        **_surface(tables, published, segments_setting),
        **_claims(tables, segments_setting, treebank_setting),
    }
    for identifier, entry in published.items():
        if identifier not in measured and entry["item"] in _NOT_HERE:
            measured[identifier] = Measured(None, NO, _NOT_HERE[entry["item"]])
    frame = compare(published, measured)
    write_table(frame, out)
    counts = ", ".join(f"{n} {name}" for name, n in frame["verdict"].value_counts(sort=False).sort_index().items())
    notes = [
        segments_setting.line,
        treebank_setting.line,
        f"{len(frame)} published values: {counts}. A number is compared only with the same model on the same data (exact) "
        "or on data of the same making and values read off a figure (close); claims on order and thresholds are put to any "
        "model.",
    ]
    write_html_table(
        frame,
        html_out,
        "Clark et al. 2019: published values and this run",
        notes,
        formats=dict.fromkeys(("ci_low", "ci_high"), ".4g") | {"n": "d"},
    )


class _Tables:
    """The tables of a run, by their indices."""

    def __init__(
        self, surface: pd.DataFrame, summary: pd.Series, relations: pd.DataFrame, counts: pd.Series, treebank: pd.Series
    ) -> None:
        self.surface, self.summary, self.relations, self.counts, self.treebank = surface, summary, relations, counts, treebank

    def measure(self, name: str) -> pd.DataFrame:
        return self.surface[self.surface["measure"] == name]

    def layer_means(self, name: str) -> list[float]:
        return self.measure(name).groupby("layer")["value"].mean().tolist()

    @property
    def segments(self) -> int:
        return int(self.summary["segments"])

    @property
    def layers(self) -> int:
        return int(self.surface["layer"].max())


def _same(setting: Setting, corpus: str, needs_model: bool = True, best: str = EXACT) -> tuple[str, str]:
    """How comparable a number is, and why."""
    faults = []
    if needs_model and setting.model_reference != MODEL:
        faults.append(f"another model ({setting.model})")
    if setting.corpus_reference != corpus:
        faults.append(f"another corpus ({setting.corpus})")
    if faults:
        return NO, " and ".join(faults)
    return best, "same model and data" if best == EXACT else "same model; data of the same making, or a value read off a figure"


def _table1(tables: _Tables, published: dict[str, Any], setting: Setting) -> dict[str, Measured]:
    rows: dict[str, Measured] = {}
    for prefix in ("t1_", "nb_t1_"):
        for name in tables.relations.index:
            row = tables.relations.loc[name]
            for suffix, column, needs_model in (("acc", "accuracy", True), ("baseline", "baseline_accuracy", False)):
                identifier = f"{prefix}{name}_{suffix}"
                if identifier not in published:
                    continue
                comparable, why = _same(setting, TREEBANK, needs_model)
                target = None
                if identifier in _CORRECTED:
                    target = published[_CORRECTED[identifier]]["value"]
                    why += f"; the printed value is a slip, compared with {target} of the authors' notebook"
                interval = suffix == "acc"
                rows[identifier] = Measured(
                    100 * float(row[column]),
                    comparable,
                    why,
                    100 * float(row["accuracy_ci_low"]) if interval else None,
                    100 * float(row["accuracy_ci_high"]) if interval else None,
                    int(row["n"]),
                    target=target,
                )
    return rows


def _treebank(tables: _Tables, published: dict[str, Any], setting: Setting) -> dict[str, Measured]:
    comparable, why = _same(setting, TREEBANK, needs_model=False)
    rows = {
        f"nb_count_{name}": Measured(int(n), comparable, why)
        for name, n in tables.counts.items()
        if f"nb_count_{name}" in published
    }
    rows["nb_dev_sentences"] = Measured(int(tables.treebank["sentences"]), comparable, why)
    share, why_share = _same(setting, TREEBANK, best=CLOSE)
    rows["txt_split_words"] = Measured(100 * float(tables.treebank["split_words"]), share, why_share)
    best, why_best = _same(setting, TREEBANK)
    row = tables.relations.loc[ALL]
    rows["txt_best_uas"] = Measured([100 * row["accuracy"], 100 * row["baseline_accuracy"]], best, why_best, n=int(row["n"]))
    return rows


def _surface(tables: _Tables, published: dict[str, Any], setting: Setting) -> dict[str, Measured]:
    comparable, why = _same(setting, SEGMENTS, best=CLOSE)
    n = tables.segments
    by_layer = {
        "dig_fig2_cls": "cls",
        "dig_fig2_sep": "sep",
        "dig_fig2_punct": "punct",
        "dig_rest_sep": "rest_sep",
        "dig_sep_sep": "sep_sep",
        "dig_ent": "entropy",
        "dig_ent_cls": "entropy_cls",
    }
    rows = {
        identifier: Measured(tables.layer_means(name), comparable, why, n=n)
        for identifier, name in by_layer.items()
        if not tables.measure(name).empty
    }
    for word, name in (("prev", "previous"), ("next", "next"), ("self", "current")):
        for layer in range(1, tables.layers + 1):
            identifier = f"dig_{word}_L{layer}"
            if identifier in published:
                heads = tables.measure(name)
                best = heads[heads["layer"] == layer].nlargest(1, "value").iloc[0]
                ends = (float(best["ci_low"]), float(best["ci_high"]))
                rows[identifier] = Measured(float(best["value"]), comparable, why, *ends, n)
    uniform, why_uniform = _same(setting, SEGMENTS, needs_model=False, best=CLOSE)
    rows["dig_uniform_entropy"] = Measured(float(tables.summary["uniform_entropy"]), uniform, why_uniform, n=n)
    rows["nb_n_segments"] = Measured(n, uniform, why_uniform)
    rows["txt_n_segments"] = Measured(n, uniform, why_uniform)
    rows["txt_max_len"] = Measured(int(tables.summary["longest"]), uniform, why_uniform)
    if not tables.measure("entropy_cls").empty:
        rows["txt_cls_entropy_l12"] = Measured(tables.layer_means("entropy_cls")[-1], comparable, why, n=n)
    return rows


def _claims(tables: _Tables, segments: Setting, treebank: Setting) -> dict[str, Measured]:
    """Claims of the text, put to whatever model this run looks at."""
    rows: dict[str, Measured] = {}
    n = tables.segments

    def claim(identifier: str, value: Any, holds: bool, what: str) -> None:
        rows[identifier] = Measured(value, QUALITATIVE, f"claim, put to {segments.model}: {what}", n=n, holds=holds)

    for identifier, name, what in (
        ("txt_prev_heads", "previous", "some heads put over half of their attention on the previous token"),
        ("txt_next_heads", "next", "some heads put over half of their attention on the next token"),
    ):
        heads = tables.measure(name)
        over = heads[heads["value"] > 0.5]
        claim(identifier, over["layer"].astype(int).tolist() or "none", not over.empty, what)
    rows["txt_sep_expected"] = Measured(
        2 / float(tables.summary["mean_tokens"]), *_same(segments, SEGMENTS, needs_model=False, best=CLOSE), n=n
    )
    if not tables.measure("sep").empty:
        # Layers 6 to 10 of 12, in proportion for a model of another depth.
        first, last = round(6 / 12 * tables.layers), round(10 / 12 * tables.layers)
        means = tables.layer_means("sep")[first - 1 : last]
        share = sum(means) / len(means)
        claim("txt_sep_6_10", share, share > 0.5, f"over half of the attention in layers {first} to {last} goes to [SEP]")
        highest = max(tables.layer_means("sep_sep"))
        claim("txt_sep_sep", highest, highest > 0.9, "[SEP] puts over 90 % of its attention on [SEP] in some layer")
    merged = tables.measure("entropy").merge(tables.measure("row_maximum"), on=["layer", "head"], suffixes=("", "_maximum"))
    broad = merged[merged["value"] > _BROAD_ENTROPY]
    if not broad.empty:
        largest = float(broad["value_maximum"].max())
        what = f"heads of entropy over {_BROAD_ENTROPY} put on average at most 10 % on any one token"
        claim("txt_high_entropy_max", largest, largest <= 0.1, what)
    named = [name for name in ("dobj", "det", "pobj", "poss") if name in tables.relations.index]
    accuracies = [100 * float(tables.relations.loc[name, "accuracy"]) for name in named]
    if named:
        rows["txt_75pct"] = Measured(
            accuracies,
            QUALITATIVE,
            f"claim, put to {treebank.model} on {treebank.corpus}: best heads of {', '.join(named)} are right in over 75 %",
            holds=min(accuracies) > 75,
        )
    return rows
