"""Measures of single heads that the atlas takes from the tables of Clark et al. (2019)."""

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
    ends_with_titles,
    one_per_value,
    where,
    with_interval,
)
from attention_atlas.studies.clark2019.gradient_rows import PREDICTED

if TYPE_CHECKING:
    import pandas as pd


def best_relations(table: pd.DataFrame) -> pd.DataFrame:
    """See `methods.head_relations.best_relations`."""
    from attention_atlas.methods import head_relations

    return head_relations.best_relations(table)


def _words_of_relations(table: pd.DataFrame) -> pd.DataFrame:
    """layer, head, and the words of the relation of rank 1 for each measure of it; without heads that have none."""
    first = table[(table["rank"] == 1) & (table["n"] > 0)]
    return first[["layer", "head"]].assign(**{measure.name: first["n"] for measure in _RELATION})


def _chance_of_antecedents(table: pd.DataFrame) -> dict[str, float]:
    """How often a candidate drawn at random is an antecedent, over all mentions: what a head without the effect reaches."""
    return {"coreference": float(table.loc[table["mention_type"] == "all", "chance"].iloc[0])}


_VALUE = ("layer", "head", "value")
_SURFACE = (
    Measure("entropy", "Entropy of attention", "Figure 4", "nats", "broad attention"),
    Measure("entropy_cls", "Entropy of attention from [CLS]", "Figure 4", "nats", "broad attention from [CLS]"),
    Measure("to_sep", "Attention to [SEP]", "Figure 2", "share", "more attention to [SEP]"),
    Measure("to_cls", "Attention to [CLS]", "Figure 2", "share", "more attention to [CLS]"),
    Measure("to_punctuation", "Attention to full stops and commas", "Figure 2", "share", "more to punctuation"),
    Measure("to_next", "Attention to the next token", "Section 3.1", "share", "looks ahead"),
    Measure("to_previous", "Attention to the previous token", "Section 3.1", "share", "looks back"),
    Measure("to_itself", "Attention to the current token", "Section 3.1", "share", "looks at itself"),
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
    Measure("chosen_relation", "First relation of the head, chosen on one half of the documents", "Table 1", ""),
    Measure("best_relation", "Relation of the head, better than the best fixed offset (held out)", "Table 1", ""),
    *with_interval(
        Measure(
            "relation_accuracy",
            "Held-out accuracy on the head's first relation",
            "Table 1",
            "share",
            "attends to the word that the relation links",
            about="chosen_relation",
            shares=("relation_margin",),
        )
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
    Measure(
        "relation_margin_low",
        "Held-out margin on the head's first relation, lower end of its interval",
        "Table 1",
        "difference of shares",
        part=True,
    ),
    Measure(
        "relation_margin_high",
        "Held-out margin on the head's first relation, upper end of its interval",
        "Table 1",
        "difference of shares",
        part=True,
    ),
    Measure("relation_margin_q", "q of that margin over all heads", "Table 1", "", part=True),
)
_GRADIENT = Measure(
    "gradient_sep", "Gradient of the loss with respect to attention to [SEP]", "Figure 3", "per weight", "[SEP] matters"
)
_OF_GRADIENT = {"masking": "masked", "rows": PREDICTED, "measure": "per_weight", "target": "sep"}
_COREFERENCE = with_interval(
    Measure(
        "coreference", "Accuracy on antecedents, in the better direction of attention", "Table 2", "share", "finds antecedents"
    ),
    "simultaneous 95 % interval of both directions",
)
MEASURES = (
    Source(
        "clark2019/surface",
        one_per_value("value", "measure", _COLUMNS_OF_SURFACE, ("ci_low", "ci_high")),
        (*_SURFACE, *ends_with_titles(_SURFACE)),
        ("measure", *_VALUE, "ci_low", "ci_high"),
        Examples("texts", one_per_value("n", "measure", _COLUMNS_OF_SURFACE)),
        attention_alone=True,
        group=WHERE,
        no_null="Models with random weights read only the sentences of the group 'On sentences', which compares these measures "
        "with them where the atlas scores the model.",
    ),
    Source(
        "clark2019/figure3",
        where("value", "gradient_sep", ("ci_low", "ci_high"), **_OF_GRADIENT),
        with_interval(_GRADIENT),
        (*_OF_GRADIENT, *_VALUE, "ci_low", "ci_high"),
        Examples("texts", where("n", "gradient_sep", **_OF_GRADIENT)),
        group=EFFECT,
        no_null="The size of a gradient without an effect of [SEP] is not known.",
    ),
    Source(
        "clark2019/dependency_head_relations",
        best_relations,
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
        _COREFERENCE,
        ("mention_type", "layer", "head", "accuracy", "ci_low", "ci_high", "chance"),
        Examples("mentions", best_of_rows("n", "coreference", mention_type="all")),
        group=LINGUISTIC,
        chances=_chance_of_antecedents,
    ),
)
