"""Table 1 and the counts of the treebank beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from attention_atlas.io.setting import Setting
from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.published.compare import CLOSE, EXACT, QUALITATIVE, Measured
from attention_atlas.studies.clark2019.comparison.sameness import TREEBANK, UD_EWT, absent, same

# What the authors' notebook has in place of slips in the paper's Table 1.
_CORRECTED = {"t1_auxpass_acc": "nb_t1_auxpass_acc", "t1_auxpass_baseline": "nb_t1_auxpass_baseline"}
_OVER_75 = ("dobj", "det", "pobj", "poss")


def dependency_rows(
    relations: pd.DataFrame, counts: pd.Series, treebank: pd.Series, published: Mapping[str, Any], setting: Setting
) -> dict[str, Measured]:
    """Rows of Table 1, of the notebook's table, of the treebank's counts, and the claims on single heads.

    Args:
        relations: relations.tsv, indexed by relation.
        counts: relation -> tokens.
        treebank: treebank.tsv, indexed by quantity.
        published: id -> published value.
        setting: model and treebank of the run.
    """
    comparable, why = same(setting, TREEBANK, needs_model=False)
    rows = _table1(relations, published, setting)
    rows |= {
        f"nb_count_{name}": Measured(int(n), comparable, why) for name, n in counts.items() if f"nb_count_{name}" in published
    }
    rows["nb_dev_sentences"] = Measured(int(treebank["sentences"]), comparable, why)
    rows["txt_split_words"] = Measured(100 * float(treebank["split_words"]), *same(setting, TREEBANK, best=CLOSE))
    row = relations.loc[ALL]
    both = [100 * float(row["accuracy"]), 100 * float(row["baseline_accuracy"])]
    rows["txt_best_uas"] = Measured(both, *same(setting, TREEBANK), n=int(row["n"]))
    if "heldout_accuracy" in row:
        published_here = published["rep_ja_best_head_all"]["value"][0]
        replicated, why_replicated = same(setting, UD_EWT, best=CLOSE)
        rows["rep_ja_best_head_all"] = Measured(
            100 * float(row["heldout_accuracy"]),
            replicated,
            f"EWT dev: {why_replicated}",
            n=int(row["n"]),
            target=published_here,
        )
    named = [name for name in _OVER_75 if name in relations.index]
    if named:
        accuracies = [100 * float(relations.loc[name, "accuracy"]) for name in named]
        rows["txt_75pct"] = Measured(
            accuracies,
            QUALITATIVE,
            f"claim, put to {setting.model} on {setting.corpus}: best heads of {', '.join(named)} are right in over 75 %",
            holds=min(accuracies) > 75,
        )
    kinds = ("t1_", "nb_t1_", "nb_count_")
    rows |= {
        identifier: absent(f"{setting.corpus} has too few words of this relation")
        for identifier in published
        if identifier.startswith(kinds) and identifier not in rows
    }
    return rows


def _table1(relations: pd.DataFrame, published: Mapping[str, Any], setting: Setting) -> dict[str, Measured]:
    rows: dict[str, Measured] = {}
    for prefix in ("t1_", "nb_t1_"):
        for name in relations.index:
            row = relations.loc[name]
            for suffix, column, needs_model in (("acc", "accuracy", True), ("baseline", "baseline_accuracy", False)):
                identifier = f"{prefix}{name}_{suffix}"
                if identifier not in published:
                    continue
                comparable, why = same(setting, TREEBANK, needs_model, EXACT)
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
