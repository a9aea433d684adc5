"""Measures of single heads that the atlas takes from the tables of Clark et al. (2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_atlas.methods.head_measures import Measure, Source, best_of_rows, one_per_value, where

if TYPE_CHECKING:
    import pandas as pd


def best_relations(table: pd.DataFrame, baselines: pd.DataFrame) -> pd.DataFrame:
    """See `methods.relation_tables.best_relations`."""
    from attention_atlas.methods import relation_tables

    return relation_tables.best_relations(table, baselines)


_VALUE = ("layer", "head", "value")
_SURFACE = (
    Measure("entropy", "Entropy of attention", "Figure 4", "nats", "broad attention"),
    Measure("entropy_cls", "Entropy of attention from [CLS]", "Figure 4", "nats", "broad attention from [CLS]"),
    Measure("to_sep", "Attention to [SEP]", "Figure 2", "share", "more attention to [SEP]"),
    Measure("to_cls", "Attention to [CLS]", "Figure 2", "share", "more attention to [CLS]"),
    Measure("to_punctuation", "Attention to full stops and commas", "Figure 2", "share", "more to punctuation"),
    Measure("to_next", "Attention to the next piece", "Section 3.1", "share", "looks ahead"),
    Measure("to_previous", "Attention to the previous piece", "Section 3.1", "share", "looks back"),
    Measure("to_itself", "Attention to the piece itself", "Section 3.1", "share", "looks at itself"),
)
_COLUMNS_OF_SURFACE = {
    "entropy": "entropy",
    "entropy_cls": "entropy_cls",
    "sep": "to_sep",
    "cls": "to_cls",
    "punct": "to_punctuation",
    "next": "to_next",
    "previous": "to_previous",
    "current": "to_itself",
}
_RELATION = (
    Measure("best_relation", "Relation found most above its offset baseline", "Table 1", ""),
    Measure("relation_accuracy", "Accuracy on that relation", "Table 1", "share", "finds the relation's words"),
    Measure("relation_margin", "Accuracy on it above the best fixed offset", "Table 1", "share", "finds more than a place"),
    Measure("relation_margin_low", "Lower end of that margin's interval", "Table 1", "share", part=True),
    Measure("relation_margin_high", "Upper end of that margin's interval", "Table 1", "share", part=True),
)
_GRADIENT = (Measure("gradient_sep", "Gradient of the loss by attention to [SEP]", "Figure 3", "per weight", "[SEP] matters"),)
_COREFERENCE = (Measure("coreference", "Accuracy of antecedents, better direction", "Table 2", "share", "finds antecedents"),)
MEASURES = (
    Source(
        "clark2019/surface",
        one_per_value("value", "measure", _COLUMNS_OF_SURFACE),
        _SURFACE,
        ("measure", *_VALUE),
        attention_alone=True,
    ),
    Source(
        "clark2019/figure3",
        where("value", "gradient_sep", masking="masked", measure="per_weight", target="sep"),
        _GRADIENT,
        ("masking", "measure", "target", *_VALUE),
    ),
    Source(
        "clark2019/dependency_heads",
        best_relations,
        _RELATION,
        ("relation", "layer", "head", "n", "correct", "accuracy"),
        ("clark2019/dependencies", ("relation", "baseline_accuracy")),
        attention_alone=True,
    ),
    Source(
        "clark2019/coreference_heads",
        best_of_rows("accuracy", "coreference", mention_type="all"),
        _COREFERENCE,
        ("mention_type", "layer", "head", "accuracy"),
    ),
)
