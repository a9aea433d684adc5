"""Surface patterns of heads: where they attend, and how broadly (Clark et al. 2019, sections 3.1 to 3.3).

Measures are computed per example and head, then averaged over examples with equal weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import entr

from attention_atlas.attention.cache import CachedExample, widened
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import UNIT_COLUMNS, Units, independent_units, mean_rows
from attention_atlas.methods.options import Options
from attention_atlas.models.card import ModelCard

Floats = npt.NDArray[np.float64]
Measures = dict[str, Floats]
TARGETS = ("cls", "sep", "punct", "rest_sep", "sep_sep")
MEASURES = (*TARGETS, "next", "previous", "current", "entropy", "entropy_cls", "row_maximum")
COLUMNS = ("measure", "layer", "head", "value", "ci_low", "ci_high", "n", *UNIT_COLUMNS)
"""Columns of a table of measures: mean over n examples, its interval, and what the interval resamples."""


class TokenClasses(NamedTuple):
    """Which tokens of one example are special or punctuation, as boolean arrays [n]."""

    cls: npt.NDArray[np.bool_]
    sep: npt.NDArray[np.bool_]
    punct: npt.NDArray[np.bool_]


def token_classes(tokens: Sequence[str], cls: str | None, sep: str | None) -> TokenClasses:
    """[CLS], [SEP] (vocabulary entries, None if the model has none), and tokens that are exactly a full stop or a comma."""
    names = np.asarray(tokens, dtype=object)
    is_punctuation = np.asarray([without_space_mark(token) in (".", ",") for token in tokens], dtype=bool)
    return TokenClasses(names == cls, names == sep, is_punctuation)


def target_measures(a: npt.NDArray[np.floating], classes: TokenClasses, options: Options) -> Measures:
    """Mean attention by target class of one segment, measure -> [layer, head], of maps [layer, head, n, n] (Figure 2).

    `cls`, `sep`, `punct`: over all n queries, including special tokens. `rest_sep`, `sep_sep`: to [SEP] from all other tokens
    and from [SEP]. NaN for special tokens that the model does not have; 0 for a segment without punctuation.
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
    """Mean attention to the next, previous and current token in one segment (section 3.1)."""
    n = a.shape[-1]
    neighbours = n if options.position_denominator == "all" else n - 1
    none = np.full(a.shape[:-2], np.nan)
    return {
        "next": _diagonal(a, 1) / neighbours if neighbours else none,
        "previous": _diagonal(a, -1) / neighbours if neighbours else none,
        "current": _diagonal(a, 0) / n,
    }


def entropy_measures(a: npt.NDArray[np.floating], classes: TokenClasses, options: Options) -> Measures:
    """Entropy in nats of all rows and of the row of [CLS] of one segment (Figure 4, section 3.3), and the mean over rows of the
    largest weight (the claim of section 3.3 on single words)."""
    share = options.entropy_smoothing
    smoothed = (1 - share) * a + share / a.shape[-1] if share else a
    entropies = entr(smoothed).sum(axis=-1, dtype=np.float64)
    from_cls = entropies[..., classes.cls].mean(axis=-1) if classes.cls.any() else np.full(a.shape[:-2], np.nan)
    largest = a.max(axis=-1).mean(axis=-1, dtype=np.float64)
    return {"entropy": entropies.mean(axis=-1), "entropy_cls": from_cls, "row_maximum": largest}


Group = Callable[[npt.NDArray[np.floating], TokenClasses, Options], Measures]
GROUPS: tuple[tuple[Group, str, tuple[str, ...]], ...] = (
    (target_measures, "sep_sep_denominator", ("sep_sep",)),
    (position_measures, "position_denominator", ("next", "previous")),
    (entropy_measures, "entropy_smoothing", ("entropy", "entropy_cls")),
)
"""Measures of one segment, the only option that affects them, and those that it affects."""


def surface_frame(
    cached: Iterable[CachedExample], card: ModelCard, options: Options, resamples: int, seed: int, items: str = "segments"
) -> pd.DataFrame:
    """All measures of every head, columns `COLUMNS`; the bootstrap is over documents, or over `items` if there are none."""
    values_by_measure: dict[str, list[Floats]] = {}
    documents: list[str | None] = []
    for example in cached:
        documents.append(example.document)
        maps, classes = widened(example.maps), token_classes(example.tokens, card.cls, card.sep)
        for group, *_ in GROUPS:
            for measure, values in group(maps, classes, options).items():
                values_by_measure.setdefault(measure, []).append(values)
    if not values_by_measure:
        raise AtlasError("there is no example to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    return mean_frame(values_by_measure, independent_units(documents, items), resamples, seed)


def mean_frame(values_by_measure: Mapping[str, Sequence[Floats]], units: Units, resamples: int, seed: int) -> pd.DataFrame:
    """Means over examples with intervals, columns `COLUMNS`, from measure -> [layer, head] of every example."""
    frames = [
        mean_rows(np.stack(values), resamples, seed, units).assign(measure=measure)
        for measure, values in values_by_measure.items()
    ]
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)[list(COLUMNS)]


def _diagonal(a: npt.NDArray[np.float32], offset: int) -> Floats:
    return np.diagonal(a, offset=offset, axis1=-2, axis2=-1).sum(axis=-1, dtype=np.float64)
