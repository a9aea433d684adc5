"""Surface patterns of heads: where they attend, and how broadly (Clark et al. 2019, sections 3.1 to 3.3).

Measures are computed per example and head, then averaged over examples with equal weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import entr

from attention_atlas.attention.cache import CachedExample
from attention_atlas.attention.half import widened
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import mean_rows
from attention_atlas.methods.options import Options
from attention_atlas.methods.units import UNIT_COLUMNS, Units, independent_units
from attention_atlas.models.card import ModelCard

Floats = npt.NDArray[np.float64]

Measures = dict[str, Floats]

TARGETS = ("cls", "sep", "punct", "rest_sep", "sep_sep")

POSITIONS = ("next", "previous", "current")

ENTROPIES = ("entropy", "entropy_cls")

MEASURES = (*TARGETS, *POSITIONS, *ENTROPIES, "row_maximum")

COLUMNS = ("measure", "layer", "head", "value", "ci_low", "ci_high", "n", *UNIT_COLUMNS)
"""Columns of a table of measures: mean over n examples, its interval, and what the interval resamples."""

_PUNCTUATION = {".", ","}


@dataclass(frozen=True)
class TokenClasses:
    """Which tokens of one example are special or punctuation, as boolean arrays [n]."""

    cls: npt.NDArray[np.bool_]
    sep: npt.NDArray[np.bool_]
    punct: npt.NDArray[np.bool_]


def token_classes(tokens: Sequence[str], cls: str | None, sep: str | None) -> TokenClasses:
    """Find [CLS], [SEP] and tokens that are exactly a full stop or a comma.

    Args:
        tokens: vocabulary entries of the tokens.
        cls, sep: vocabulary entries of the special tokens, None if the model has none.
    """
    names = np.asarray(tokens, dtype=object)
    plain = [without_space_mark(token) in _PUNCTUATION for token in tokens]
    return TokenClasses(names == cls, names == sep, np.asarray(plain, dtype=bool))


def target_measures(a: npt.NDArray[np.floating], classes: TokenClasses, options: Options) -> Measures:
    """Mean attention by target class of one segment (Figure 2, section 3.2).

    Args:
        a: maps [layer, head, n, n], rows sum to 1.
        classes: classes of the n tokens.
        options: only `sep_sep_denominator` is used.

    Returns:
        measure -> [layer, head]. `cls`, `sep`, `punct`: mean over all n queries, including special tokens, of the attention to
        that class. `rest_sep`, `sep_sep`: attention to [SEP] from all other tokens and from [SEP]. NaN for special
        tokens that the model does not have; 0 for a segment without punctuation.
    """
    n = a.shape[-1]
    received = a.sum(axis=-2, dtype=np.float64) / n
    to_sep = a[..., classes.sep].sum(axis=-1, dtype=np.float64)
    seps = int(classes.sep.sum())
    between = {"two": 2, "count": seps}[options.sep_sep_denominator]
    none = np.full(a.shape[:-2], np.nan)
    return {
        "cls": received[..., classes.cls].sum(axis=-1) if classes.cls.any() else none,
        "sep": received[..., classes.sep].sum(axis=-1) if seps else none,
        "punct": received[..., classes.punct].sum(axis=-1),
        "rest_sep": to_sep[..., ~classes.sep].mean(axis=-1) if 0 < seps < n else none,
        "sep_sep": to_sep[..., classes.sep].sum(axis=-1) / between if seps else none,
    }


def position_measures(a: npt.NDArray[np.floating], classes: TokenClasses, options: Options) -> Measures:
    """Mean attention to the next, previous and current token in one segment (section 3.1); arguments as above."""
    n = a.shape[-1]
    neighbours = n if options.position_denominator == "all" else n - 1
    none = np.full(a.shape[:-2], np.nan)
    return {
        "next": _diagonal(a, 1) / neighbours if neighbours else none,
        "previous": _diagonal(a, -1) / neighbours if neighbours else none,
        "current": _diagonal(a, 0) / n,
    }


def entropy_measures(a: npt.NDArray[np.floating], classes: TokenClasses, options: Options) -> Measures:
    """Entropy in nats of all rows and of the row of [CLS] of one segment (Figure 4, section 3.3); arguments as above."""
    share = options.entropy_smoothing
    smoothed = (1 - share) * a + share / a.shape[-1] if share else a
    entropies = entr(smoothed).sum(axis=-1, dtype=np.float64)
    from_cls = entropies[..., classes.cls].mean(axis=-1) if classes.cls.any() else np.full(a.shape[:-2], np.nan)
    return {"entropy": entropies.mean(axis=-1), "entropy_cls": from_cls}


def maximum_measures(a: npt.NDArray[np.floating], classes: TokenClasses, options: Options) -> Measures:
    """Mean over queries of the largest weight of one segment (the claim of section 3.3 on single words)."""
    return {"row_maximum": a.max(axis=-1).mean(axis=-1, dtype=np.float64)}


# Each group of measures with the only option that affects it.
GROUPS: dict[str, tuple[Callable[[npt.NDArray[np.floating], TokenClasses, Options], Measures], str | None]] = {
    "targets": (target_measures, "sep_sep_denominator"),
    "positions": (position_measures, "position_denominator"),
    "entropies": (entropy_measures, "entropy_smoothing"),
    "maxima": (maximum_measures, None),
}


def surface_frame(
    cached: Iterable[CachedExample], card: ModelCard, options: Options, resamples: int, seed: int, items: str = "segments"
) -> pd.DataFrame:
    """All measures of every head, columns `COLUMNS`.

    Args:
        cached: examples with maps over word pieces.
        card: card of the model.
        options: the options of the measures.
        resamples, seed: settings of the bootstrap over documents, or over examples if the corpus names no documents.
        items: unit of the examples: segments or sentences.

    Raises:
        AtlasError: there is no example.
    """
    values_by_measure: dict[str, list[Floats]] = {}
    documents: list[str | None] = []
    for example in cached:
        documents.append(example.document)
        maps, classes = widened(example.maps), token_classes(example.tokens, card.cls, card.sep)
        for group, _ in GROUPS.values():
            for measure, values in group(maps, classes, options).items():
                values_by_measure.setdefault(measure, []).append(values)
    if not values_by_measure:
        raise AtlasError("there is no example to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    return mean_frame(values_by_measure, independent_units(documents, items), resamples, seed)


def mean_frame(values_by_measure: Mapping[str, Sequence[Floats]], units: Units, resamples: int, seed: int) -> pd.DataFrame:
    """Means over examples with intervals, columns `COLUMNS`, from measure -> [layer, head] of every example.

    Args:
        values_by_measure: measure -> values of every example.
        units: what the bootstrap resamples.
        resamples, seed: settings of the bootstrap.
    """
    frames = [
        mean_rows(np.stack(values), resamples, seed, units).assign(measure=measure)
        for measure, values in values_by_measure.items()
    ]
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)[list(COLUMNS)]


def _diagonal(a: npt.NDArray[np.float32], offset: int) -> Floats:
    return np.diagonal(a, offset=offset, axis1=-2, axis2=-1).sum(axis=-1, dtype=np.float64)
