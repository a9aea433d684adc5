"""Measures of single heads that the atlas computes itself.

Imports nothing heavy, since the workflow reads the declarations at every start.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attention_atlas.methods.head_measures import (
    EFFECT,
    NORM,
    PLACE,
    REPEATED,
    WEIGHTS,
    WHERE,
    Caution,
    Measure,
    Source,
    each,
    where,
)
from attention_atlas.models.card import weak_predictor

if TYPE_CHECKING:
    import pandas as pd

HEAD_SCORES = "atlas/head_scores"
RELATION_WEIGHTS, CAUSAL_EFFECTS, HEAD_ABLATION = "atlas/relation_weights", "atlas/relation_effects", "atlas/head_ablation"
MODEL_TABLES = (HEAD_SCORES, RELATION_WEIGHTS, CAUSAL_EFFECTS, HEAD_ABLATION)
"""Tables of single heads that need the model in addition to its attention on the atlas's sentences."""


BREADTH = ("entropy", "duplicate_token", "induction")
"""Measures that rank heads that ignore token identity by how broad they are: such a head gives the one token of a random
sequence that a measure is about little if it attends to few places, and an even share if it attends broadly.
"""
_RANDOM = "heads with random weights"
_NULL = ("null_low", "null_high", "q")
_SCORES = (
    (WHERE, "sentences", (
        ("sink", "Attention to the first token and to special tokens", "Xiao et al. 2023", "share", "an attention sink", "",
         ("to_sep", "to_cls", "norm_sink")),
    )),
    (NORM, "sentences", (
        ("norm_sink", "Norm-weighted attention to the first token and to special tokens", "Kobayashi et al. 2020", "share",
         "its output comes from sinks", "", ("to_sep", "to_cls")),
    )),
    (REPEATED, "sequences", (
        ("previous_token", "Attention to the previous token (random tokens)", "Elhage et al. 2021", "share",
         "looks back one token", "", ()),
        ("next_token", "Attention to the next token (random tokens)", "Elhage et al. 2021", "share",
         "looks ahead one token", "", ()),
        ("duplicate_token", "Attention to the same token elsewhere (random tokens)", "Elhage et al. 2021", "share",
         "finds the same token", "", ("entropy", "induction")),
        ("induction", "Induction: attention to what followed the same token (random tokens)", "Olsson et al. 2022", "share",
         "induction head", "", ("entropy", "duplicate_token")),
    )),
    (WEIGHTS, "", (
        ("ov_copying", "Copying by weights: signs of the eigenvalues of W_U W_OV W_E", "Elhage et al. 2021", "mean sign",
         "makes what it attends to more likely", "makes it less likely", ()),
    )),
)  # fmt: skip
"""Group, unit of the inputs, and name, title, source, unit, meanings and `Measure.shares` of each measure."""
ONE_SIDED = {name: not lower for *_, scores in _SCORES for name, *_, lower, _ in scores}
"""Measure -> whether only high values mean anything."""


def _by_measure(table: pd.DataFrame, column: str) -> dict[str, Any]:
    """Measure -> the text or number in a column, where there is one."""
    return table[table[column].fillna("") != ""].groupby("measure", sort=False)[column].first().to_dict()


_TESTED = ("value", ("ci_low", "ci_high"), "n", "q")
_NEEDED = "the model needs the head"
_OF_WORDS: tuple[tuple[str, str, tuple[Any, ...], Measure], ...] = (
    (RELATION_WEIGHTS, NORM, _TESTED, Measure(
        "norm_gain", "Accuracy on the head's first relation, by norm-weighted attention minus by attention weights",
        "Kobayashi et al. 2020", "difference of shares", "value norms single out the relation", chance=0,
        about="chosen_relation", shares=("relation_accuracy", "relation_margin"))),
    (CAUSAL_EFFECTS, EFFECT, _TESTED, Measure(
        "causal_effect", "Change in loss on words of the head's first relation minus matched words, minus placebo heads",
        "Causal effect", "nats", "the model needs it more than other heads on these words", chance=0,
        about="chosen_relation")),
    (HEAD_ABLATION, EFFECT, ("mean", ("mean_low", "mean_high")), Measure(
        "ablation_mean", "Change in loss on random words when the output of the head is its mean over the corpus",
        "Ablation", "nats", _NEEDED, chance=0, shares=("ablation_zero",))),
    (HEAD_ABLATION, EFFECT, ("zero", ("zero_low", "zero_high")), Measure(
        "ablation_zero", "Change in loss on random words when the output of the head is 0",
        "Ablation", "nats", _NEEDED, chance=0, shares=("ablation_mean",))),
)  # fmt: skip
"""Table, group, and columns (of value, interval, number of words and q) of measures over words."""


def _weak(table: pd.DataFrame) -> str:
    return weak_predictor(str(next(iter(table["language_model"].dropna()), "")))


def _reason(name: str, table: pd.DataFrame) -> dict[str, str]:
    return {name: str(next(iter(table["note"].replace("", None).dropna()), ""))}


MEASURES = (
    *(
        Source(
            HEAD_SCORES,
            each({name: name for name, *_ in scores}, _NULL),
            tuple(
                Measure(name, title, item, of, higher, lower, null=_RANDOM, shares=shares)
                for name, title, item, of, higher, lower, shares in scores
            ),
            ("measure", *PLACE, "value", "ci_low", "ci_high", "n", *_NULL, "even_share", "note"),
            unit,
            group=group,
            chances=lambda table: _by_measure(table, "even_share"),
            reasons=lambda table: _by_measure(table, "note"),
            no_null="The parts of the inputs that models with random weights read have no such pair of tokens.",
        )
        for group, unit, scores in _SCORES
    ),
    *(
        Source(
            table,
            where(measure.name, *columns),
            (measure,),
            (*PLACE, columns[0], *columns[1], "n", *columns[3:], "note"),
            "words",
            Caution(table, ("language_model",), _weak) if group == EFFECT else None,
            group,
            reasons=partial(_reason, measure.name),
        )
        for table, group, columns, measure in _OF_WORDS
    ),
)
