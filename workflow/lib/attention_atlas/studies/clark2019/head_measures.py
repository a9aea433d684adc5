"""Measures of single heads from the tables of Clark et al. (2019), for the atlas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_atlas.methods.head_measures import INTERVAL, LINGUISTIC, PLACE, WHERE, Measure, Source, each, where

if TYPE_CHECKING:
    import pandas as pd


def _of_first_relations(table: pd.DataFrame) -> pd.DataFrame:
    """Names and numbers of the relation of rank 1 of each head; best_relation: `NONE` if it is not better than the offset."""
    from pandas import concat

    from attention_atlas.methods.head_relations import NONE, above_baseline

    first = table[table["rank"] == 1]
    of_words = first.assign(n=first["n"].where(first["n"] > 0))
    intervals = {"relation_accuracy": ("accuracy", "accuracy_low", "accuracy_high"), "relation_margin": ("margin", *INTERVAL)}
    names = {"chosen_relation": first["relation"], "best_relation": first["relation"].where(above_baseline(first), NONE)}
    rows = [first[PLACE].assign(measure=name, value=relations) for name, relations in names.items()]
    for name, columns in intervals.items():
        q = first["q"] if name == "relation_margin" else None
        numbers = of_words[[*PLACE, "n", *columns]].rename(columns=dict(zip(columns, ("value", "low", "high"), strict=True)))
        rows.append(numbers.assign(measure=name, q=q))
    return concat(rows, ignore_index=True)


def _better_direction(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of each head on all mentions in its better direction of attention."""
    rows = where("coreference", "accuracy", mention_type="all")(table).sort_values("value", ascending=False, kind="stable")
    return rows.drop_duplicates(PLACE)


def _chance_of_antecedents(table: pd.DataFrame) -> dict[str, float]:
    """How often a candidate drawn at random is an antecedent, over all mentions: what a head without the effect reaches."""
    return {"coreference": float(table.loc[table["mention_type"] == "all", "chance"].iloc[0])}


_SURFACE = {
    "entropy": Measure("entropy", "Entropy of attention", "Figure 4", "nats", "broad attention", "attention to few tokens"),
    "sep": Measure("to_sep", "Attention to [SEP]", "Figure 2", "share", "more attention to [SEP]"),
    "cls": Measure("to_cls", "Attention to [CLS]", "Figure 2", "share", "more attention to [CLS]"),
    "punct": Measure("to_punctuation", "Attention to full stops and commas", "Figure 2", "share", "more to punctuation"),
}
"""Measure in surface.tsv -> measure of the atlas."""
_RELATION = (
    Measure("chosen_relation", "First relation of the head, chosen on one half of the documents", "Table 1", ""),
    Measure("best_relation", "Relation of the head, better than the best fixed offset (held out)", "Table 1", ""),
    Measure(
        "relation_accuracy",
        "Held-out accuracy on the head's first relation",
        "Table 1",
        "share",
        "attends to the word that the relation links",
        about="chosen_relation",
        shares=("relation_margin",),
    ),
    Measure(
        "relation_margin",
        "Held-out margin on the head's first relation over the best fixed offset",
        "Table 1",
        "difference of shares",
        "follows the relation beyond what word distance predicts",
        chance=0,
        about="chosen_relation",
    ),
)
_COREFERENCE = Measure(
    "coreference",
    "Accuracy on antecedents, in the better direction of attention",
    "Table 2",
    "share",
    "finds antecedents",
    interval="simultaneous 95 % interval of both directions",
)
MEASURES = (
    Source(
        "clark2019/surface",
        each({name: measure.name for name, measure in _SURFACE.items()}),
        tuple(_SURFACE.values()),
        ("measure", *PLACE, "value", *INTERVAL, "n"),
        "texts",
        attention_alone=True,
        group=WHERE,
        no_null="Models with random weights do not read these texts.",
    ),
    Source(
        "clark2019/dependency_head_relations",
        _of_first_relations,
        _RELATION,
        (*PLACE, "rank", "relation", "accuracy", "accuracy_low", "accuracy_high", "margin", *INTERVAL, "q", "n"),
        "words",
        attention_alone=True,
        group=LINGUISTIC,
        no_null="Chance depends on the relation: the margin over the best fixed offset is tested instead.",
    ),
    Source(
        "clark2019/coreference_heads",
        _better_direction,
        (_COREFERENCE,),
        ("mention_type", *PLACE, "accuracy", *INTERVAL, "chance", "n"),
        "mentions",
        group=LINGUISTIC,
        chances=_chance_of_antecedents,
    ),
)
"""Measures of single heads that the atlas takes from tables of this study."""
