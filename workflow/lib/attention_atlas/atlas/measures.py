"""Measures of single heads, each read from a table of a study: the columns of the atlas.

A measure of a model that was trained further is that of the head at the same place: a head keeps its place in training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from attention_atlas.errors import AtlasError
from attention_atlas.html_tables import write_html_table
from attention_atlas.studies.kovaleva2019.names import CLASSES, NETWORK, TASK_TITLES, TASKS
from attention_atlas.tables import read_table, write_table

Select = Callable[..., pd.DataFrame]
"""From a study's table (and a second one) to layer, head (from 1) and one column a measure."""
PLACE = ["layer", "head"]
MEASURES = ["measure", "title", "study", "item", "unit", "more", "model", "kind", "heads", "note"]
_LEAST = 20
"""Words of a relation in the evaluated text at the least, for the best relation of a head."""


@dataclass(frozen=True)
class Measure:
    """A column of the atlas.

    Attributes:
        name: of the column.
        title: what it is, in words.
        item: of the paper.
        unit: of the values; empty for names.
        more: what a larger value means.
        part: whether it is a part of another measure (one task of several, an end of an interval): shown, but not correlated.
    """

    name: str
    title: str
    item: str
    unit: str
    more: str = ""
    part: bool = False


@dataclass(frozen=True)
class Source:
    """Measures that come from one table: `study/name`, how they are selected, and the columns that the table must have.

    `beside` is a second table of the study, with its columns.
    """

    table: str
    select: Select
    measures: tuple[Measure, ...]
    columns: tuple[str, ...]
    beside: tuple[str, tuple[str, ...]] | None = None

    @property
    def study(self) -> str:
        """The study that the table belongs to."""
        return self.table.partition("/")[0]

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """Table -> the columns that it must have."""
        return {self.table: self.columns} | (dict([self.beside]) if self.beside else {})


def _where(value: str, name: str, **equal: str) -> Select:
    """Rows with these values; the column `value` becomes the measure `name`."""

    def select(table: pd.DataFrame) -> pd.DataFrame:
        kept = np.ones(len(table), dtype=bool)
        for column, wanted in equal.items():
            kept &= (table[column].astype(str) == wanted).to_numpy()
        return table.loc[kept, [*PLACE, value]].rename(columns={value: name})

    return select


def _each(value: str, by: str, names: Mapping[str, str]) -> Select:
    """A measure for each of several values of the column `by`."""

    def select(table: pd.DataFrame) -> pd.DataFrame:
        kept = table[table[by].isin(names)]
        wide = kept.pivot(index=PLACE, columns=by, values=value).rename(columns=dict(names))
        return wide[[name for name in names.values() if name in wide]].reset_index()

    return select


def _by_task(value: str, name: str, **equal: str) -> Select:
    """The mean over the rows of a head with these values as the measure `name`, and that of each task as `name_task`."""
    rows = _where(value, name, **equal)

    def select(table: pd.DataFrame) -> pd.DataFrame:
        overall = rows(table).groupby(PLACE, as_index=False)[name].mean()
        for task in TASKS:
            own = rows(table[table["task"] == task]).rename(columns={name: f"{name}_{task}"})
            overall = overall.merge(own, on=PLACE, how="left") if len(own) else overall
        return overall

    return select


def _task_measures(name: str, title: str, item: str, unit: str, more: str) -> tuple[Measure, ...]:
    """The measures of `_by_task`: over all tasks, and one a task."""
    parts = (Measure(f"{name}_{task}", f"{title}, {TASK_TITLES[task]}", item, unit, more, part=True) for task in TASKS)
    return (Measure(name, f"{title}, mean of tasks", item, unit, more), *parts)


def most_frequent_class(table: pd.DataFrame) -> pd.DataFrame:
    """The class that most maps of each head have over all tasks, by the network; ties go to the first class of the paper.

    Args:
        table: task, annotator, layer, head, class, maps.

    Returns:
        layer, head, pattern_class, pattern_share (of its maps).
    """
    kept = table[table["annotator"] == NETWORK]
    maps = kept.pivot_table(index=PLACE, columns="class", values="maps", aggfunc="sum", fill_value=0).reindex(
        columns=list(CLASSES), fill_value=0
    )
    found = pd.DataFrame({"pattern_class": maps.idxmax(axis=1), "pattern_share": maps.max(axis=1) / maps.sum(axis=1)})
    return found.reset_index()


def _best(value: str, name: str, **equal: str) -> Select:
    """The larger value of a head's two directions."""
    rows = _where(value, name, **equal)

    def select(table: pd.DataFrame) -> pd.DataFrame:
        return rows(table).groupby(PLACE, as_index=False)[name].max()

    return select


def above_offsets(table: pd.DataFrame, baselines: pd.DataFrame) -> pd.DataFrame:
    """Rows of heads with baseline_accuracy and margin, largest margin first; without relations of few words and the row All.

    Args:
        table: a row a relation, head and direction: relation, layer, head, n, accuracy.
        baselines: a row a relation: relation, baseline_accuracy.
    """
    known = table.merge(baselines[["relation", "baseline_accuracy"]], on="relation")
    kept = known[(known["n"] >= _LEAST) & (known["relation"] != "all") & known["baseline_accuracy"].notna()]
    margin = kept["accuracy"] - kept["baseline_accuracy"]
    return kept.assign(margin=margin).sort_values("margin", ascending=False, kind="stable")


def best_relations(table: pd.DataFrame, baselines: pd.DataFrame) -> pd.DataFrame:
    """The relation that each head finds most above what the best fixed offset finds, with the margin and its 95 % interval.

    Args:
        table: a row a relation, head and direction: relation, layer, head, n, correct, accuracy.
        baselines: a row a relation: relation, baseline_accuracy.

    Returns:
        layer, head, best_relation, relation_accuracy, relation_margin, relation_margin_low, relation_margin_high: Wilson's
        interval of the accuracy less the baseline, that of one choice; the relation was picked for being best.
    """
    best = above_offsets(table, baselines).drop_duplicates(PLACE).sort_values(PLACE)
    low, high = proportion_confint(best["correct"].to_numpy(), best["n"].to_numpy(), method="wilson")
    return pd.DataFrame(
        {
            **{name: best[name].to_numpy() for name in PLACE},
            "best_relation": best["relation"].to_numpy(),
            "relation_accuracy": best["accuracy"].to_numpy(),
            "relation_margin": best["margin"].to_numpy(),
            "relation_margin_low": low - best["baseline_accuracy"].to_numpy(),
            "relation_margin_high": high - best["baseline_accuracy"].to_numpy(),
        }
    )


_RELATION = (
    Measure("best_relation", "Relation found most above its offset baseline", "Table 1", ""),
    Measure("relation_accuracy", "Accuracy on that relation", "Table 1", "share", "finds the relation's words"),
    Measure("relation_margin", "Accuracy on it above the best fixed offset", "Table 1", "share", "finds more than a place"),
    Measure("relation_margin_low", "Lower end of that margin's interval", "Table 1", "share", part=True),
    Measure("relation_margin_high", "Upper end of that margin's interval", "Table 1", "share", part=True),
)
_VALUE = ("layer", "head", "value")
SOURCES = (
    Source(
        "clark2019/surface",
        _each(
            "value",
            "measure",
            {
                "entropy": "entropy", "entropy_cls": "entropy_cls", "sep": "to_sep", "cls": "to_cls", "punct": "to_punctuation",
                "next": "to_next", "previous": "to_previous", "current": "to_itself",
            },
        ),
        (
            Measure("entropy", "Entropy of attention", "Figure 4", "nats", "broad attention"),
            Measure("entropy_cls", "Entropy of attention from [CLS]", "Figure 4", "nats", "broad attention from [CLS]"),
            Measure("to_sep", "Attention to [SEP]", "Figure 2", "share", "more attention to [SEP]"),
            Measure("to_cls", "Attention to [CLS]", "Figure 2", "share", "more attention to [CLS]"),
            Measure("to_punctuation", "Attention to full stops and commas", "Figure 2", "share", "more to punctuation"),
            Measure("to_next", "Attention to the next piece", "Section 3.1", "share", "looks ahead"),
            Measure("to_previous", "Attention to the previous piece", "Section 3.1", "share", "looks back"),
            Measure("to_itself", "Attention to the piece itself", "Section 3.1", "share", "looks at itself"),
        ),
        ("measure", *_VALUE),
    ),
    Source(
        "clark2019/figure3",
        _where("value", "gradient_sep", masking="masked", measure="per_weight", target="sep"),
        (Measure("gradient_sep", "Gradient of the loss by attention to [SEP]", "Figure 3", "per weight", "[SEP] matters"),),
        ("masking", "measure", "target", *_VALUE),
    ),
    Source(
        "clark2019/dependency_heads",
        best_relations,
        _RELATION,
        ("relation", "layer", "head", "n", "correct", "accuracy"),
        ("clark2019/relations", ("relation", "baseline_accuracy")),
    ),
    Source(
        "clark2019/coreference_heads",
        _best("accuracy", "coreference", mention_type="all"),
        (Measure("coreference", "Accuracy of antecedents, better direction", "Table 2", "share", "finds antecedents"),),
        ("mention_type", "layer", "head", "accuracy"),
    ),
    Source(
        "guan2020/head_types",
        _where("type", "distance_type"),
        (Measure("distance_type", "Type by distances", "Figure 2", ""),),
        ("layer", "head", "type"),
    ),
    Source(
        "kovaleva2019/head_classes",
        most_frequent_class,
        (
            Measure("pattern_class", "Most frequent class of its maps, by the network", "Figure 2", ""),
            Measure("pattern_share", "Share of its maps that are of that class", "Figure 2", "share", "one pattern"),
        ),
        ("task", "annotator", "layer", "head", "class", "maps"),
    ),
    Source(
        "kovaleva2019/figure3",
        _where("margin", "frame_margin"),
        (
            Measure(
                "frame_margin", "Attention between frame elements above pairs as far apart", "Figure 3", "share", "links frames"
            ),
        ),
        ("layer", "head", "margin"),
    ),
    Source(
        "kovaleva2019/figure5",
        _by_task("value", "unchanged", crop="real"),
        _task_measures("unchanged", "Cosine of maps before and after fine-tuning", "Figure 5", "cosine", "changed less"),
        ("task", "crop", *_VALUE),
    ),
    Source(
        "kovaleva2019/figure8",
        _by_task("delta", "disabled", action="uniform"),
        _task_measures(
            "disabled", "Score with the head made uniform, less the score without", "Figure 8", "points", "harmless head"
        ),
        ("task", "action", "layer", "head", "delta"),
    ),
    Source(
        "michel2019/figure1",
        _where("delta", "masked", experiment="classification"),
        (
            Measure(
                "masked", "Accuracy with the head masked, less the accuracy without", "Figure 1", "points",
                "harmless or harmful head",
            ),
        ),
        ("experiment", "layer", "head", "delta"),
    ),
    Source(
        "michel2019/head_importance",
        _where("importance", "importance", task="classification", definition="paper"),
        (Measure("importance", "Importance by derivatives", "Section 4", "per layer norm", "pruned late"),),
        ("task", "definition", "layer", "head", "importance"),
    ),
    Source(
        "stefanik2021/relative_attention",
        _where("value", "keyphrase_attention", way="mean"),
        (
            Measure(
                "keyphrase_attention", "Attention that key words receive minus that of others", "Relative attention", "share",
                "attends to keyphrases",
            ),
        ),
        ("way", *_VALUE),
    ),
    Source(
        "stefanik2021/head_ranking",
        _where("auc", "keyphrase_auc"),
        (Measure("keyphrase_auc", "AUC of its attention for key words", "Ranking of heads", "AUC", "detects keyphrases"),),
        ("layer", "head", "auc"),
    ),
    Source(
        "stefanik2021/ablation",
        _where("delta", "tagger_without", seed="mean", split="test", metric="token_f1"),
        (
            Measure(
                "tagger_without", "Token F1 of a tagger without the head, less the whole one's", "Removing one", "points",
                "harmless or harmful head",
            ),
        ),
        ("seed", "split", "metric", "layer", "head", "delta"),
    ),
)  # fmt: skip
"""Where the measures of the atlas come from, in the order of its columns."""


def read_measures(
    tables: Mapping[str, str | Path], layers: int, heads: int, left_out: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """One row a head with all measures whose tables are there, and why others are not.

    Args:
        tables: `study/name` -> file, for those of `names.TABLES` that the run has.
        layers, heads: shape of the model.
        left_out: table -> why it is not among them, where it is not for want of the study.

    Returns:
        layer, head (from 1) and a column a measure in the order of `SOURCES`; and measure -> the reason why it is left out.

    Raises:
        AtlasError: a table cannot be used, or is that of a model of another shape.
    """
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    found = pd.DataFrame({"layer": layer, "head": head})
    absent: dict[str, str] = {}
    for source in SOURCES:
        names = [measure.name for measure in source.measures]
        if not source.tables.keys() <= tables.keys():
            reason = (left_out or {}).get(source.table, f"this run does not build {source.table}")
            absent |= dict.fromkeys(names, reason)
            continue
        own = source.select(*(read_table(tables[name], list(columns)) for name, columns in source.tables.items()))
        _check(own, layers, heads, tables[source.table])
        for name in names:
            if name not in own or own[name].isna().all():
                absent[name] = f"{source.table} has no value: this model or corpus has nothing of the kind"
        kept = own[[*PLACE, *(name for name in names if name not in absent)]]
        found = found.merge(kept, on=PLACE, how="left", validate="one_to_one")
    return found, absent


def _check(own: pd.DataFrame, layers: int, heads: int, path: str | Path) -> None:
    if own.duplicated(PLACE).any():
        raise AtlasError(f"{path}: several rows for one head: this table cannot become a column of the atlas.")
    if len(own) and (own["layer"].max() > layers or own["head"].max() > heads):
        raise AtlasError(
            f"{path}: this table names layer {own['layer'].max()} and head {own['head'].max()}, but the model has {layers} "
            f"layers of {heads} heads: the atlas of a run is of one model and those trained from it."
        )


def measure_rows(table: pd.DataFrame, absent: Mapping[str, str], models: Mapping[str, str]) -> pd.DataFrame:
    """A row a measure, columns `MEASURES`: what it is, of which model (by table), of how many heads, or why it is left out."""
    rows = []
    for source in SOURCES:
        for measure in source.measures:
            there = measure.name in table
            kind = "" if not there else ("number" if pd.api.types.is_numeric_dtype(table[measure.name]) else "name")
            count = int(table[measure.name].notna().sum()) if there else 0
            facts = (measure.name, measure.title, source.study, measure.item, measure.unit, measure.more)
            rows.append([*facts, models.get(source.table, "") if there else "", kind, count, absent.get(measure.name, "")])
    return pd.DataFrame(rows, columns=MEASURES)


def write_heads(
    tables: Mapping[str, str | Path],
    model: str,
    layers: int,
    heads: int,
    models: Mapping[str, str],
    left_out: Mapping[str, str],
    out: str | Path,
    measures_out: str | Path,
    html_out: str | Path,
    run: str,
) -> None:
    """Write heads.tsv (model, layer, head and a column a measure), measures.tsv (`MEASURES`) and its page.

    Args:
        tables: see `read_measures`.
        model: the run's model, by its name in the registry.
        layers, heads: its shape.
        models: table -> the model that its measures are of: that one, or one that is trained from it.
        left_out: see `read_measures`.
        out, measures_out, html_out: files to write.
        run: title of the run.

    Raises:
        AtlasError: see `read_measures`; or no table is there.
    """
    if not tables:
        raise AtlasError("the run builds no study that measures single heads: name one in the run.")
    found, absent = read_measures(tables, layers, heads, left_out)
    write_table(found.assign(model=model)[["model", *found.columns]], out)
    rows = measure_rows(found, absent, models)
    write_table(rows, measures_out)
    notes = [
        f"{run}: {model}, {layers} layers of {heads} heads.",
        f"Columns of heads.tsv: {(rows['note'] == '').sum()} of {len(rows)} measures; the others are left out, with the "
        "reason. A measure of a model that was trained further is that of the head at the same place.",
    ]
    write_html_table(rows, html_out, "The atlas: measures of single heads", notes, formats={"heads": "d"})


_PARTS = frozenset(measure.name for source in SOURCES for measure in source.measures if measure.part)


def numeric(table: pd.DataFrame) -> list[str]:
    """Columns of heads.tsv that are measures by number; parts of others are left out."""
    return [
        name
        for name in table.columns
        if name not in (*PLACE, "model") and name not in _PARTS and pd.api.types.is_numeric_dtype(table[name])
    ]
