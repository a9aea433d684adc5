"""Measures of single heads that the atlas computes itself, and the patterns that a user names.

Imports nothing heavy, since the workflow reads the declarations and checks patterns at every start.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
    Select,
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
_SCORE_COLUMNS = (
    *("measure", "layer", "head", "value", "ci_low", "ci_high", "n", "null_low", "null_high", "q"),
    *("even_share", "note", "pattern"),
)


def _score(
    name: str, title: str, item: str, higher_means: str, *shares: str, unit: str = "share", part: bool = False
) -> Measure:
    null = "heads with random weights"
    return Measure(name, title, item, unit, higher_means, part=part, null=null, shares=shares)


def _repeated(name: str, title: str, item: str, higher_means: str) -> Measure:
    shares = [other for other in BREADTH if other != name] if name in BREADTH else []
    return _score(name, f"{title} (random tokens)", item, higher_means, *shares)


def _statistics_of(measures: Sequence[str]) -> Select:
    """Value, interval, null distribution and q of these measures, in columns."""
    columns = ("value", "ci_low", "ci_high", "null_low", "null_high", "q")

    def select(table: pd.DataFrame) -> pd.DataFrame:
        wide = table[PLACE].drop_duplicates()
        for measure in measures:
            names = dict(zip(columns, (measure, *parts_of(measure)), strict=True))
            rows = table[table["measure"] == measure]
            if len(rows):
                wide = wide.merge(rows[[*PLACE, *columns]].rename(columns=names), on=PLACE, how="left")
        return wide

    return select


def _counts_of(measures: Sequence[str]) -> Select:
    """Number of inputs of these measures, in columns."""
    return lambda table: table[table["measure"].isin(measures)].pivot(index=PLACE, columns="measure", values="n").reset_index()


def _pattern_texts(table: pd.DataFrame) -> dict[str, str]:
    """Measure -> text of its pattern."""
    return table[table["pattern"].fillna("") != ""].groupby("measure", sort=False)["pattern"].first().to_dict()


def pattern_measures(table: pd.DataFrame) -> tuple[Measure, ...]:
    """The measures of the patterns that a user named; none without any."""
    return tuple(
        _score(name, f"Attention on the pattern {text}", "Chosen pattern", "attends to these pairs of tokens")
        for name, text in _pattern_texts(table).items()
    )


def _even_shares(table: pd.DataFrame) -> dict[str, float]:
    """Measure -> its value under uniform attention."""
    return table.dropna(subset=["even_share"]).groupby("measure")["even_share"].first().to_dict()


def _score_notes(table: pd.DataFrame) -> dict[str, str]:
    """Measure -> why it has no value."""
    return table[table["note"].fillna("") != ""].groupby("measure")["note"].first().to_dict()


def _scores(group: str, unit: str, *measures: Measure) -> Source:
    names = [measure.name for measure in measures]
    return Source(
        HEAD_SCORES,
        _statistics_of(names),
        measures,
        _SCORE_COLUMNS,
        Examples(unit, _counts_of(names)) if unit else None,
        group=group,
        chances=_even_shares,
        reasons=_score_notes,
        no_null="The parts of the inputs that models with random weights read have no such pair of tokens.",
        no_interval="" if unit else "Weights are not a sample of anything.",
    )


# --- relations and effects: one row per head --------------------------------------------------------------------------


def _renamed(columns: dict[str, str]) -> Select:
    return lambda table: table[[*PLACE, *columns]].rename(columns=columns)


def _columns(name: str, value: str = "value", low: str = "ci_low", high: str = "ci_high", q: str = "") -> dict[str, str]:
    """Columns of a table -> a measure, the ends of its interval, and its q."""
    return dict(zip((value, low, high), (name, *ends_of(name)), strict=True)) | ({"q": q} if q else {})


def _n_of(*measures: str) -> Select:
    return lambda table: table[PLACE].assign(**dict.fromkeys(measures, table["n"]))


def _note_on(*measures: str) -> Callable[[pd.DataFrame], dict[str, str]]:
    """Why these measures have no value, by the note of the table."""

    def reasons(table: pd.DataFrame) -> dict[str, str]:
        notes = table["note"].fillna("")
        return dict.fromkeys(measures, str(notes.iloc[0])) if (notes != "").any() else {}

    return reasons


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
    change = Measure(
        "relation_loss",
        f"Change in loss on words of the head's first relation when it is masked{by}",
        "Causal effect",
        "nats",
        "the model uses the head on these words",
        part=True,
        chance=0,
        about="chosen_relation",
        shares=("causal_effect",),
    )
    effect = Measure(
        "causal_effect",
        f"Change in loss on words of the head's first relation when it is masked, minus that on matched words{by}",
        "Causal effect",
        "nats",
        "the model uses the head on these words more than on others",
        chance=0,
        about="chosen_relation",
    )
    return change, effect


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
    _scores(
        WHERE,
        "sentences",
        _score(
            "sink",
            "Attention to the first token and to special tokens",
            "Xiao et al. 2023",
            "an attention sink",
            *("to_sep", "to_cls", "norm_sink", "norm_sep"),
        ),
    ),
    _scores(
        NORM,
        "sentences",
        _score(
            "norm_sink",
            "Norm-weighted attention to the first token and to special tokens",
            "Kobayashi et al. 2020",
            "its output comes from sinks",
            *("norm_sep", "to_sep", "to_cls"),
        ),
        _score(
            "norm_sep",
            "Norm-weighted attention of words to [SEP]",
            "Kobayashi et al. 2020",
            "its output comes from [SEP]",
            "to_sep",
        ),
    ),
    _scores(
        REPEATED,
        "sequences",
        _repeated("previous_token", "Attention to the previous token", "Elhage et al. 2021", "looks back one token"),
        _repeated("next_token", "Attention to the next token", "Elhage et al. 2021", "looks ahead one token"),
        _repeated("duplicate_token", "Attention to the same token elsewhere", "Elhage et al. 2021", "finds the same token"),
        _repeated("induction", "Induction: attention to what followed the same token", "Olsson et al. 2022", "induction head"),
    ),
    _scores(
        WEIGHTS,
        "",
        _score(
            "ov_copying",
            "Copying by weights: signs of the eigenvalues of W_U W_OV W_E",
            "Elhage et al. 2021",
            "makes what it attends to more likely",
            unit="mean sign",
        ),
    ),
    Source(
        HEAD_SCORES,
        lambda table: _statistics_of([*_pattern_texts(table)])(table),
        (),
        _SCORE_COLUMNS,
        Examples("sentences", lambda table: _counts_of([*_pattern_texts(table)])(table)),
        group=CHOSEN,
        further=pattern_measures,
        chances=_even_shares,
    ),
    Source(
        RELATION_WEIGHTS,
        _renamed(_WEIGHT_COLUMNS),
        (_NORM, _GAIN),
        (*PLACE, *_WEIGHT_COLUMNS, "note"),
        Examples("words", _n_of("relation_norm", "norm_gain")),
        group=NORM,
        reasons=_note_on("relation_norm", "norm_gain"),
        no_null="Chance depends on the relation: the difference of the two accuracies is tested instead.",
    ),
    Source(
        CAUSAL_EFFECTS,
        _renamed(_EFFECT_COLUMNS),
        effect_measures(),
        _EFFECTS_READ,
        Examples("words", _n_of("relation_loss", "causal_effect")),
        Caution(CAUSAL_EFFECTS, _EFFECTS_READ, weak_predictor),
        group=EFFECT,
        further=effect_measures,
        reasons=_note_on("relation_loss", "causal_effect"),
    ),
)
