"""Measures of single heads that the atlas computes itself, and the patterns that a user names.

Imports nothing heavy, since the workflow reads the declarations and checks patterns at every start.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_atlas.errors import AtlasError, first_line
from attention_atlas.methods.head_measures import (
    CHOSEN,
    EFFECT,
    NORM,
    PLACE,
    REPEATED,
    WEIGHTS,
    WHERE,
    Caution,
    Examples,
    Measure,
    Source,
    ends_of,
    parts_of,
)
from attention_atlas.models.card import TRAINED_HERE

if TYPE_CHECKING:
    import pandas as pd

HEAD_SCORES = "atlas/head_scores"
RELATION_WEIGHTS, CAUSAL_EFFECTS = "atlas/relation_weights", "atlas/relation_effects"
MODEL_TABLES = (HEAD_SCORES, RELATION_WEIGHTS, CAUSAL_EFFECTS)
"""Tables of single heads that need the model in addition to its attention on the atlas's sentences."""


# --- patterns ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pattern:
    """FILE.py:FUNCTION of a user: the function gets an example and returns which pairs of tokens count, [n, n] booleans."""

    text: str

    @property
    def path(self) -> Path:
        return Path(self.text.rpartition(":")[0])

    @property
    def function(self) -> str:
        return self.text.rpartition(":")[2]

    @property
    def measure(self) -> str:
        """Name of its measure, with letters, digits and underscores."""
        return "pattern_" + re.sub(r"[^a-z0-9]+", "_", f"{self.path.stem}_{self.function}".lower()).strip("_")


def parse_patterns(texts: Iterable[str]) -> list[Pattern]:
    """Patterns from their texts, in order; their functions are not run, but each must be there, under a name of its own."""
    by_name: dict[str, Pattern] = {}
    for pattern in map(Pattern, texts):
        _check(pattern)
        if pattern.measure in by_name:
            raise AtlasError(
                f"pattern '{pattern.text}': its measure would be called {pattern.measure}, like that of "
                f"'{by_name[pattern.measure].text}': remove one of them, or rename its function."
            )
        by_name[pattern.measure] = pattern
    return list(by_name.values())


def _check(pattern: Pattern) -> None:
    text, path = pattern.text, pattern.path
    if path.suffix != ".py" or not pattern.function.isidentifier():
        raise AtlasError(f"pattern '{text}': write it as FILE.py:FUNCTION (see docs/atlas.md).")
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AtlasError(f"pattern '{text}': there is no file {path}.") from error
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise AtlasError(f"pattern '{text}': {path}{line}: this is not Python ({first_line(error, 200)}).") from error
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if pattern.function not in defined:
        listed = ", ".join(defined) or "none"
        raise AtlasError(f"pattern '{text}': {path} defines no function '{pattern.function}' (its functions: {listed}).")


# --- the table of head scores: value, interval, null distribution and q of a measure in one row per head ---------------

# Each of these is the attention to about one token of a random sequence. A head that does not respond to what a token is gives
# such a token what it gives any other: little if it attends to few places, an even share if it attends broadly. All of these
# measures, and entropy, rank such heads by how broad they are.
BREADTH = ("entropy", "duplicate_token", "induction")
"""Measures that rank heads by how broad they are, but for heads that respond to what a token is."""
_RANDOM = "heads with random weights"
_STATISTICS = ("value", "ci_low", "ci_high", "null_low", "null_high", "q")
_SCORES = (
    (WHERE, "sentences", (
        ("sink", "Attention to the first token and to special tokens", "Xiao et al. 2023", "share", "an attention sink",
         ("to_sep", "to_cls", "norm_sink", "norm_sep")),
    )),
    (NORM, "sentences", (
        ("norm_sink", "Norm-weighted attention to the first token and to special tokens", "Kobayashi et al. 2020", "share",
         "its output comes from sinks", ("norm_sep", "to_sep", "to_cls")),
        ("norm_sep", "Norm-weighted attention of words to [SEP]", "Kobayashi et al. 2020", "share",
         "its output comes from [SEP]", ("to_sep",)),
    )),
    (REPEATED, "sequences", (
        ("previous_token", "Attention to the previous token (random tokens)", "Elhage et al. 2021", "share",
         "looks back one token", ()),
        ("next_token", "Attention to the next token (random tokens)", "Elhage et al. 2021", "share",
         "looks ahead one token", ()),
        ("duplicate_token", "Attention to the same token elsewhere (random tokens)", "Elhage et al. 2021", "share",
         "finds the same token", ("entropy", "induction")),
        ("induction", "Induction: attention to what followed the same token (random tokens)", "Olsson et al. 2022", "share",
         "induction head", ("entropy", "duplicate_token")),
    )),
    (WEIGHTS, "", (
        ("ov_copying", "Copying by weights: signs of the eigenvalues of W_U W_OV W_E", "Elhage et al. 2021", "mean sign",
         "makes what it attends to more likely", ()),
    )),
    (CHOSEN, "sentences", ()),
)  # fmt: skip
"""Group, unit of the inputs, and name, title, source, unit, meaning and `Measure.shares` of each measure; then patterns."""


def _statistics(table: pd.DataFrame) -> pd.DataFrame:
    """Value, interval, null distribution and q of all measures, in columns."""
    wide = table.pivot(index=PLACE, columns="measure", values=list(_STATISTICS))
    wide.columns = [dict(zip(_STATISTICS, (name, *parts_of(name)), strict=True))[column] for column, name in wide.columns]
    return wide.reset_index()


def _counts(table: pd.DataFrame) -> pd.DataFrame:
    return table.pivot(index=PLACE, columns="measure", values="n").reset_index()


def _by_measure(table: pd.DataFrame, column: str) -> dict[str, Any]:
    """Measure -> the text or number in a column, where there is one."""
    return table[table[column].fillna("") != ""].groupby("measure", sort=False)[column].first().to_dict()


def _pattern_measures(table: pd.DataFrame) -> tuple[Measure, ...]:
    titles = {name: f"Attention on the pattern {text}" for name, text in _by_measure(table, "pattern").items()}
    meaning = "attends to these pairs of tokens"
    return tuple(Measure(name, title, "Chosen pattern", "share", meaning, null=_RANDOM) for name, title in titles.items())


# --- relations and effects: one row per head --------------------------------------------------------------------------


def _renamed(columns: dict[str, str]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table[[*PLACE, *columns]].rename(columns=columns)


def _columns(name: str, value: str = "value", low: str = "ci_low", high: str = "ci_high", q: str = "") -> dict[str, str]:
    """Columns of a table -> a measure, the ends of its interval, and its q."""
    return dict(zip((value, low, high), (name, *ends_of(name)), strict=True)) | ({"q": q} if q else {})


def _words_of(*measures: str) -> Examples:
    return Examples("words", lambda table: table[PLACE].assign(**dict.fromkeys(measures, table["n"])))


def _note_on(*measures: str) -> Callable[[pd.DataFrame], dict[str, str]]:
    """Why these measures have no value, by the note of the table."""
    return lambda table: dict.fromkeys(measures, str(next(iter(table["note"].replace("", None).dropna()), "")))


_NORM = Measure(
    "relation_norm",
    "Accuracy on the head's first relation, by norm-weighted attention",
    "Kobayashi et al. 2020",
    "share",
    "its output comes from the word that the relation links",
    part=True,
    about="chosen_relation",
    shares=("relation_accuracy", "relation_margin", "norm_gain"),
)
_GAIN = Measure(
    "norm_gain",
    "Accuracy on the head's first relation, by norm-weighted attention minus by attention weights",
    "Kobayashi et al. 2020",
    "difference of shares",
    "value norms single out the relation",
    chance=0,
    about="chosen_relation",
    shares=("relation_accuracy", "relation_margin"),
)
_WEIGHT_COLUMNS = _columns("relation_norm", "norm", "norm_low", "norm_high") | _columns("norm_gain", q="norm_gain_q")
_EFFECT_COLUMNS = _columns("relation_loss", "relation_change", "relation_low", "relation_high")
_EFFECT_COLUMNS |= _columns("causal_effect", q="causal_effect_q")
_EFFECTS_READ = (*PLACE, *_EFFECT_COLUMNS, "n", "language_model", "note")
_TRAINED_HERE = re.compile(
    rf"(?P<kind>.* {TRAINED_HERE}) on .*\(held-out loss (?P<loss>[\d.]+), unigram (?P<unigram>[\d.]+) nats\)"
)
"""A language-model head that the workflow trained, as `models.language_models.HeadFacts.words` describes it."""
LEAST_GAIN = 0.25
"""Share of the loss of token frequencies that a language-model head must save for its losses to show what a head is used for.

A convention: BERT-base saves about four fifths (perplexity 3.99: Devlin et al. 2019, Table 6).
"""


def effect_measures(table: pd.DataFrame | None = None) -> tuple[Measure, ...]:
    """Measures of masked heads; the titles name the kind of language-model head that the table was computed with."""
    predictor = "" if table is None else _predictor(table)
    trained = _TRAINED_HERE.match(predictor)
    by = f" ({trained['kind'] if trained else predictor})" if predictor else ""
    title = "Change in loss on words of the head's first relation when it is masked"
    facts: dict[str, Any] = {"item": "Causal effect", "unit": "nats", "chance": 0, "about": "chosen_relation"}
    used = "the model uses the head on these words"
    return (
        Measure("relation_loss", f"{title}{by}", higher_means=used, part=True, shares=("causal_effect",), **facts),
        Measure(
            "causal_effect",
            f"{title}, minus that on matched words{by}",
            higher_means=f"{used} more than on others",
            **facts,
        ),
    )


def _predictor(table: pd.DataFrame) -> str:
    """Description of the language-model head that a table of effects was computed with; empty if it has no value."""
    return str(next(iter(table["language_model"].dropna()), ""))


def weak_predictor(table: pd.DataFrame) -> str:
    """Why effects on the loss say little about heads, if the language-model head saves less than `LEAST_GAIN`; else empty.

    Only a head that the workflow trained has the loss of token frequencies beside its own.
    """
    trained = _TRAINED_HERE.match(_predictor(table))
    if trained is None:
        return ""
    loss, unigram = float(trained["loss"]), float(trained["unigram"])
    saved = 1 - loss / unigram
    if saved >= LEAST_GAIN:
        return ""
    return (
        f"The {trained['kind']} hardly predicts words by their context: its held-out loss is {loss:.2f} nats, that of "
        f"token frequencies {unigram:.2f}, so that it saves {100 * saved:.0f} %, less than {100 * LEAST_GAIN:.0f} %. "
        "Effects on such a loss say little about what the model uses a head for."
    )


MEASURES = (
    *(
        Source(
            HEAD_SCORES,
            _statistics,
            tuple(
                Measure(name, title, item, of, meaning, null=_RANDOM, shares=shares)
                for name, title, item, of, meaning, shares in scores
            ),
            (*("measure", *PLACE), *_STATISTICS, "n", "even_share", "note", "pattern"),
            Examples(unit, lambda table: table.pivot(index=PLACE, columns="measure", values="n").reset_index())
            if unit
            else None,
            group=group,
            further=None if scores else _pattern_measures,
            chances=lambda table: _by_measure(table, "even_share"),
            reasons=lambda table: _by_measure(table, "note"),
            no_null="The parts of the inputs that models with random weights read have no such pair of tokens.",
            no_interval="" if unit else "Weights are not a sample of anything.",
        )
        for group, unit, scores in _SCORES
    ),
    Source(
        RELATION_WEIGHTS,
        _renamed(_WEIGHT_COLUMNS),
        (_NORM, _GAIN),
        (*PLACE, *_WEIGHT_COLUMNS, "note"),
        _words_of("relation_norm", "norm_gain"),
        group=NORM,
        reasons=_note_on("relation_norm", "norm_gain"),
        no_null="Chance depends on the relation: the difference of the two accuracies is tested instead.",
    ),
    Source(
        CAUSAL_EFFECTS,
        _renamed(_EFFECT_COLUMNS),
        effect_measures(),
        _EFFECTS_READ,
        _words_of("relation_loss", "causal_effect"),
        Caution(CAUSAL_EFFECTS, _EFFECTS_READ, weak_predictor),
        group=EFFECT,
        further=effect_measures,
        reasons=_note_on("relation_loss", "causal_effect"),
    ),
)
