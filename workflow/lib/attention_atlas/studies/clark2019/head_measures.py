"""Measures of single heads from the tables of Clark et al. (2019), for the atlas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_atlas.methods.head_measures import (
    EFFECT,
    LINGUISTIC,
    WHERE,
    Examples,
    Measure,
    Source,
    best_of_rows,
    one_per_value,
    where,
)

if TYPE_CHECKING:
    import pandas as pd

PREDICTED = "predicted"
"""Queries that a mean gradient of Figure 3 is over: those of the predicted tokens."""


def _best_relations(table: pd.DataFrame) -> pd.DataFrame:
    from attention_atlas.methods.head_relations import best_relations

    return best_relations(table)


def _words_of_relations(table: pd.DataFrame) -> pd.DataFrame:
    """layer, head, and the words of the relation of rank 1 for each measure of it; without heads that have none."""
    first = table[(table["rank"] == 1) & (table["n"] > 0)]
    return first[["layer", "head"]].assign(**{measure.name: first["n"] for measure in _RELATION})


def _chance_of_antecedents(table: pd.DataFrame) -> dict[str, float]:
    """How often a candidate drawn at random is an antecedent, over all mentions: what a head without the effect reaches."""
    return {"coreference": float(table.loc[table["mention_type"] == "all", "chance"].iloc[0])}


_SURFACE = {
    "entropy": Measure("entropy", "Entropy of attention", "Figure 4", "nats", "broad attention"),
    "entropy_cls": Measure("entropy_cls", "Entropy of attention from [CLS]", "Figure 4", "nats", "broad attention from [CLS]"),
    "sep": Measure("to_sep", "Attention to [SEP]", "Figure 2", "share", "more attention to [SEP]"),
    "cls": Measure("to_cls", "Attention to [CLS]", "Figure 2", "share", "more attention to [CLS]"),
    "punct": Measure("to_punctuation", "Attention to full stops and commas", "Figure 2", "share", "more to punctuation"),
    "next": Measure("to_next", "Attention to the next token", "Section 3.1", "share", "looks ahead"),
    "previous": Measure("to_previous", "Attention to the previous token", "Section 3.1", "share", "looks back"),
    "current": Measure("to_itself", "Attention to the current token", "Section 3.1", "share", "looks at itself"),
}
"""Measure in surface.tsv -> measure of the atlas."""
_COLUMNS_OF_SURFACE = {name: measure.name for name, measure in _SURFACE.items()}
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
_GRADIENT = Measure(
    "gradient_sep", "Gradient of the loss with respect to attention to [SEP]", "Figure 3", "per weight", "[SEP] matters"
)
_OF_GRADIENT = {"masking": "masked", "rows": PREDICTED, "measure": "per_weight", "target": "sep"}
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
        one_per_value("value", "measure", _COLUMNS_OF_SURFACE, ("ci_low", "ci_high")),
        tuple(_SURFACE.values()),
        ("measure", "layer", "head", "value", "ci_low", "ci_high"),
        Examples("texts", one_per_value("n", "measure", _COLUMNS_OF_SURFACE)),
        attention_alone=True,
        group=WHERE,
        no_null="Models with random weights do not read these texts.",
    ),
    Source(
        "clark2019/gradients",
        where("value", "gradient_sep", ("ci_low", "ci_high"), **_OF_GRADIENT),
        (_GRADIENT,),
        (*_OF_GRADIENT, "layer", "head", "value", "ci_low", "ci_high"),
        Examples("texts", where("n", "gradient_sep", **_OF_GRADIENT)),
        group=EFFECT,
        no_null="The size of a gradient without an effect of [SEP] is not known.",
    ),
    Source(
        "clark2019/dependency_head_relations",
        _best_relations,
        _RELATION,
        ("layer", "head", "rank", "relation", "accuracy", "accuracy_low", "accuracy_high", "margin", "ci_low", "ci_high", "q"),
        Examples("words", _words_of_relations),
        attention_alone=True,
        group=LINGUISTIC,
        no_null="Chance depends on the relation: the margin over the best fixed offset is tested instead.",
    ),
    Source(
        "clark2019/coreference_heads",
        best_of_rows("accuracy", "coreference", ("ci_low", "ci_high"), mention_type="all"),
        (_COREFERENCE,),
        ("mention_type", "layer", "head", "accuracy", "ci_low", "ci_high", "chance"),
        Examples("mentions", best_of_rows("n", "coreference", mention_type="all")),
        group=LINGUISTIC,
        chances=_chance_of_antecedents,
    ),
)
"""Measures of single heads that the atlas takes from tables of this study."""
