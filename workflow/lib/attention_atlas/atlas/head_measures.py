"""Measures of single heads that the atlas computes itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_atlas.methods.head_measures import (
    CHOSEN,
    EFFECT,
    NORM,
    PLACE,
    REPEATED,
    SENTENCES,
    WEIGHTS,
    WHERE,
    Caution,
    Examples,
    Measure,
    Select,
    Source,
    ends_of,
    null_of,
    with_interval,
    with_null,
)
from attention_atlas.methods.trained_head import trained_head

if TYPE_CHECKING:
    import pandas as pd

HEAD_SCORES = "atlas/head_scores"
RELATION_WEIGHTS, CAUSAL_EFFECTS = "atlas/relation_weights", "atlas/relation_effects"
MODEL_TABLES = (HEAD_SCORES, RELATION_WEIGHTS, CAUSAL_EFFECTS)
"""Tables of single heads that need the model in addition to its attention on the atlas's sentences."""
_RANDOM = "heads with random weights"
_SINK = Measure(
    "sink",
    "Attention to the first token and to special tokens",
    "Xiao et al. 2023",
    "share",
    "an attention sink",
    null=_RANDOM,
    shares=("to_sep", "to_cls", "norm_sink", "sep", "norm_sep"),
)
_SEP = Measure(
    "sep",
    "Attention of words to [SEP]",
    "Kobayashi et al. 2020",
    "share",
    "attends to [SEP]",
    null=_RANDOM,
    shares=("to_sep", "norm_sep", "norm_sink"),
)
_NORM_WEIGHTED = (
    Measure(
        "norm_sink",
        "Norm-weighted attention to the first token and to special tokens",
        "Kobayashi et al. 2020",
        "share",
        "its output comes from sinks",
        null=_RANDOM,
        shares=("norm_sep", "to_sep", "to_cls"),
    ),
    Measure(
        "norm_sep",
        "Norm-weighted attention of words to [SEP]",
        "Kobayashi et al. 2020",
        "share",
        "its output comes from [SEP]",
        null=_RANDOM,
        shares=("to_sep",),
    ),
)
# Each of these is the attention to about one token of a random sequence. A head that does not respond to what a token is gives
# such a token what it gives any other: little if it attends to few places, an even share if it attends broadly. All of these
# measures, and entropy, rank such heads by how broad they are.
BREADTH = ("entropy", "duplicate_token", "induction", "induction_before")
"""Measures that rank heads by how broad they are, but for heads that respond to what a token is."""
_REPEATED = tuple(
    Measure(
        name,
        f"{title} (random tokens)",
        item,
        "share",
        higher_means,
        null=_RANDOM,
        shares=tuple(other for other in BREADTH if other != name) if name in BREADTH else (),
    )
    for name, title, item, higher_means in (
        ("previous_token", "Attention to the previous token", "Elhage et al. 2021", "looks back one token"),
        ("next_token", "Attention to the next token", "Elhage et al. 2021", "looks ahead one token"),
        ("duplicate_token", "Attention to the same token elsewhere", "Elhage et al. 2021", "finds the same token"),
        ("induction", "Induction: attention to what followed the same token", "Olsson et al. 2022", "induction head"),
        ("induction_before", "Attention to what came before the same token", "Olsson et al. 2022", "mirrored induction"),
    )
)
_ON_SENTENCES = tuple(
    Measure(f"sentence_{name}", f"{title} (sentences)", item, unit, higher_means, null=_RANDOM, part=True)
    for name, title, item, unit, higher_means in (
        ("entropy", "Entropy of attention", "Clark et al. 2019", "nats", "broad attention"),
        ("entropy_cls", "Entropy of attention from [CLS]", "Clark et al. 2019", "nats", "broad attention from [CLS]"),
        ("to_cls", "Attention of all tokens to [CLS]", "Clark et al. 2019", "share", "more attention to [CLS]"),
        ("to_sep", "Attention of all tokens to [SEP]", "Clark et al. 2019", "share", "more attention to [SEP]"),
        ("to_punctuation", "Attention to full stops and commas", "Clark et al. 2019", "share", "more to punctuation"),
        ("to_next", "Attention to the next token", "Clark et al. 2019", "share", "looks ahead one token"),
        ("to_previous", "Attention to the previous token", "Clark et al. 2019", "share", "looks back one token"),
        ("to_itself", "Attention to the token itself", "Clark et al. 2019", "share", "looks at itself"),
        ("distance", "Mean distance of attention", "Vig and Belinkov 2019", "tokens", "looks far"),
    )
)
"""Surface measures on sentences, which random models read too. Parts: those of the study's texts are correlated."""
_COPYING = Measure(
    "ov_copying",
    "Copying by weights: signs of the eigenvalues of W_U W_OV W_E",
    "Elhage et al. 2021",
    "mean sign",
    "makes what it attends to more likely",
    null=_RANDOM,
)


def _scores(*measures: Measure) -> Select:
    """Value, interval, null distribution and q of these measures, in columns."""

    def select(table: pd.DataFrame) -> pd.DataFrame:
        wide = table[PLACE].drop_duplicates()
        for measure in measures:
            columns = ["value", "ci_low", "ci_high", "null_low", "null_high", "q"]
            names = dict(zip(columns, (measure.name, *ends_of(measure.name), *null_of(measure.name)), strict=True))
            rows = table[table["measure"] == measure.name]
            if len(rows):
                wide = wide.merge(rows[[*PLACE, *columns]].rename(columns=names), on=PLACE, how="left")
        return wide

    return select


def pattern_measures(table: pd.DataFrame) -> tuple[Measure, ...]:
    """The measures of the patterns that a user named, with intervals and null distribution; none without any."""
    texts = table[table["pattern"].fillna("") != ""].groupby("measure", sort=False)["pattern"].first()
    return tuple(part for name, text in texts.items() for part in _parts_of(_of_pattern(str(name), str(text))))


def _of_pattern(name: str, text: str) -> Measure:
    title = f"Attention on the pattern {text}"
    return Measure(name, title, "Chosen pattern", "share", "attends to these pairs of tokens", null=_RANDOM)


def _parts_of(measure: Measure) -> tuple[Measure, ...]:
    return (*with_interval(measure), *with_null(measure))


def _pattern_columns(table: pd.DataFrame) -> pd.DataFrame:
    return _scores(*_main(pattern_measures(table)))(table)


def _pattern_numbers(table: pd.DataFrame) -> pd.DataFrame:
    return _numbers(*_main(pattern_measures(table)))(table)


def _main(measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    return tuple(measure for measure in measures if not measure.part)


def _numbers(*measures: Measure) -> Select:
    """Number of inputs of these measures, in columns."""

    def select(table: pd.DataFrame) -> pd.DataFrame:
        rows = table[table["measure"].isin([measure.name for measure in measures])]
        return rows.pivot(index=PLACE, columns="measure", values="n").reset_index()

    return select


def _even_shares(table: pd.DataFrame) -> dict[str, float]:
    """Measure -> its value under uniform attention."""
    return table.dropna(subset=["even_share"]).groupby("measure")["even_share"].first().to_dict()


def _reasons(table: pd.DataFrame) -> dict[str, str]:
    """Measure -> why it has no value."""
    return table[table["note"].fillna("") != ""].groupby("measure")["note"].first().to_dict()


_COLUMNS = (
    *("measure", "layer", "head", "value", "ci_low", "ci_high", "n", "null_low", "null_high", "q"),
    *("even_share", "note", "pattern"),
)


def _source(group: str, unit: str, *measures: Measure) -> Source:
    listed = tuple(part for measure in measures for part in (_parts_of(measure) if unit else (measure, *with_null(measure))))
    examples = Examples(unit, _numbers(*measures)) if unit else None
    select = _scores(*measures)
    weights = "" if unit else "Weights are not a sample of anything."
    return Source(
        HEAD_SCORES,
        select,
        listed,
        _COLUMNS,
        examples,
        group=group,
        chances=_even_shares,
        reasons=_reasons,
        no_null="The parts of the inputs that models with random weights read have no such pair of tokens.",
        no_interval=weights,
    )


_FIRST_RELATION = Measure(
    "first_relation", "First relation of the head, chosen on the other half of the sentences", "Table 1", ""
)
_RAW = Measure(
    "relation_raw",
    "Accuracy on the head's first relation, by attention weights",
    "Kobayashi et al. 2020",
    "share",
    "attends to the word that the relation links",
    part=True,
    about="first_relation",
    shares=("relation_norm", "relation_accuracy", "relation_margin", "norm_gain"),
)
_NORM = Measure(
    "relation_norm",
    "Accuracy on the head's first relation, by norm-weighted attention",
    "Kobayashi et al. 2020",
    "share",
    "its output comes from the word that the relation links",
    part=True,
    about="first_relation",
    shares=("relation_accuracy", "relation_margin", "norm_gain"),
)
_GAIN = Measure(
    "norm_gain",
    "Accuracy on the head's first relation, by norm-weighted attention minus by attention weights",
    "Kobayashi et al. 2020",
    "difference of shares",
    "value norms single out the relation",
    chance=0,
    about="first_relation",
    shares=("relation_accuracy", "relation_margin"),
)


def _q_of(measure: Measure) -> Measure:
    return Measure(null_of(measure.name)[-1], f"{measure.title}: q over heads", measure.item, "", part=True)


def _relation_columns(table: pd.DataFrame) -> pd.DataFrame:
    columns = {"relation": "first_relation", "raw": "relation_raw", "norm": "relation_norm", "value": "norm_gain"}
    for column, measure in (("raw", _RAW), ("norm", _NORM)):
        columns |= dict(zip((f"{column}_low", f"{column}_high"), ends_of(measure.name), strict=True))
    columns |= dict(zip(("ci_low", "ci_high"), ends_of(_GAIN.name), strict=True)) | {"q": null_of(_GAIN.name)[-1]}
    return table[[*PLACE, *columns]].rename(columns=columns)


def _relation_numbers(table: pd.DataFrame) -> pd.DataFrame:
    names = (_FIRST_RELATION.name, _RAW.name, _NORM.name, _GAIN.name)
    return table[PLACE].assign(**dict.fromkeys(names, table["n"]))


def _relation_reasons(table: pd.DataFrame) -> dict[str, str]:
    notes = table["note"].fillna("")
    return dict.fromkeys((_NORM.name, _GAIN.name), str(notes.iloc[0])) if (notes != "").any() else {}


LEAST_GAIN = 0.25
"""Share of the loss of token frequencies that a language-model head must save for its losses to show what a head is used for.

A convention: a head that saves little predicts frequent tokens, whatever the context. BERT-base has a loss of 1.4 nats on
masked tokens (perplexity 3.99: Devlin et al. 2019, Table 6), about a fifth of that of token frequencies.
"""


def effect_measures(table: pd.DataFrame | None = None) -> tuple[Measure, ...]:
    """Measures of masked heads; the titles name the kind of language-model head that the table was computed with."""
    predictor = "" if table is None else _predictor(table)
    trained = trained_head(predictor)
    kind = trained.kind if trained else predictor
    by = f" ({kind})" if kind else ""
    change = Measure(
        "relation_loss",
        f"Change in loss on words of the head's first relation when it is masked{by}",
        "Causal effect",
        "nats",
        "the model uses the head on these words",
        part=True,
        chance=0,
        about="first_relation",
        shares=("causal_effect",),
    )
    effect = Measure(
        "causal_effect",
        f"Change in loss on words of the head's first relation when it is masked, minus that on matched words{by}",
        "Causal effect",
        "nats",
        "the model uses the head on these words more than on others",
        chance=0,
        about="first_relation",
    )
    return (*with_interval(change), *with_interval(effect), _q_of(effect))


def _predictor(table: pd.DataFrame) -> str:
    """Description of the language-model head that a table of effects was computed with; empty if it has no value."""
    return str(next(iter(table["language_model"].dropna()), ""))


def weak_predictor(table: pd.DataFrame) -> str:
    """Why effects on the loss say little about heads, if the language-model head saves less than `LEAST_GAIN`; else empty.

    Only a head that the workflow trained has the loss of token frequencies beside its own.
    """
    trained = trained_head(_predictor(table))
    if trained is None:
        return ""
    saved = 1 - trained.loss / trained.unigram
    if saved >= LEAST_GAIN:
        return ""
    return (
        f"The {trained.kind} hardly predicts words by their context: its held-out loss is {trained.loss:.2f} nats, that of "
        f"token frequencies {trained.unigram:.2f}, so that it saves {100 * saved:.0f} %, less than {100 * LEAST_GAIN:.0f} %. "
        "Effects on such a loss say little about what the model uses a head for."
    )


def _effect_columns(table: pd.DataFrame) -> pd.DataFrame:
    columns = {"relation_change": "relation_loss", "value": "causal_effect", "q": null_of("causal_effect")[-1]}
    columns |= dict(zip(("relation_low", "relation_high"), ends_of("relation_loss"), strict=True))
    columns |= dict(zip(("ci_low", "ci_high"), ends_of("causal_effect"), strict=True))
    return table[[*PLACE, *columns]].rename(columns=columns)


def _effect_numbers(table: pd.DataFrame) -> pd.DataFrame:
    return table[PLACE].assign(relation_loss=table["n"], causal_effect=table["n"])


def _effect_reasons(table: pd.DataFrame) -> dict[str, str]:
    notes = table["note"].fillna("")
    return dict.fromkeys(("relation_loss", "causal_effect"), str(notes.iloc[0])) if (notes != "").any() else {}


_EFFECT_COLUMNS = (
    *PLACE,
    *("relation_change", "relation_low", "relation_high", "value", "ci_low", "ci_high", "q", "n", "language_model", "note"),
)
MEASURES = (
    _source(WHERE, "sentences", _SINK, _SEP),
    _source(SENTENCES, "sentences", *_ON_SENTENCES),
    _source(NORM, "sentences", *_NORM_WEIGHTED),
    _source(REPEATED, "sequences", *_REPEATED),
    _source(WEIGHTS, "", _COPYING),
    Source(
        HEAD_SCORES,
        _pattern_columns,
        (),
        _COLUMNS,
        Examples("sentences", _pattern_numbers),
        group=CHOSEN,
        further=pattern_measures,
        chances=_even_shares,
    ),
    Source(
        RELATION_WEIGHTS,
        _relation_columns,
        (_FIRST_RELATION, *(part for measure in (_RAW, _NORM, _GAIN) for part in with_interval(measure)), _q_of(_GAIN)),
        (
            *PLACE,
            "relation",
            "raw",
            "raw_low",
            "raw_high",
            "norm",
            "norm_low",
            "norm_high",
            "value",
            "ci_low",
            "ci_high",
            "q",
            "note",
        ),
        Examples("words", _relation_numbers),
        group=NORM,
        reasons=_relation_reasons,
        no_null="Chance depends on the relation: the difference of the two accuracies is tested instead.",
    ),
    Source(
        CAUSAL_EFFECTS,
        _effect_columns,
        effect_measures(),
        _EFFECT_COLUMNS,
        Examples("words", _effect_numbers),
        Caution(CAUSAL_EFFECTS, _EFFECT_COLUMNS, weak_predictor),
        group=EFFECT,
        further=effect_measures,
        reasons=_effect_reasons,
    ),
)
