"""How far heads attend: the 21 features of Guan et al. (2020), Equation 2, for all heads in one matrix product.

Every cell of a map belongs to exactly one feature. A feature is the sum of the map over its cells, divided by the number of
tokens; the features of a head sum to 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_atlas.attention.cache import CachedExample
from attention_atlas.attention.words import widened
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
WINDOWS = 16
SPECIAL, SELF = ("cls", "sep", "comma", "period"), "self"
FEATURES = (*SPECIAL, SELF, *(f"window_{i}" for i in range(WINDOWS)))
_FIRST_WINDOW = len(SPECIAL) + 1


@dataclass(frozen=True)
class FeatureOptions:
    """Choices that Equation 2 leaves open.

    binning: floor: a token at distance d > 0 is in window floor(16 d / L); ceil: in window ceil(16 d / L) - 1.
    diagonal: special: attention of a special token to itself is attention to that special token; self: it is to itself.
    """

    binning: str = "floor"
    diagonal: str = "special"


DEFAULT = FeatureOptions()


def options_of(settings: Mapping[str, Any]) -> FeatureOptions:
    """Options from a configuration."""
    return FeatureOptions(**settings)


def alternatives() -> list[FeatureOptions]:
    """Every combination of the options, the default first."""
    return [FeatureOptions(binning, diagonal) for binning in ("floor", "ceil") for diagonal in ("special", "self")]


def special_columns(tokens: Sequence[str], cls: str | None, sep: str | None) -> npt.NDArray[np.intp]:
    """[n] index of the special feature of each token (every occurrence of [CLS], [SEP], comma, full stop), or -1."""
    named = {",": 2, ".": 3}
    numbers = np.asarray([named.get(without_space_mark(token), -1) for token in tokens], dtype=np.intp)
    names = np.asarray(tokens, dtype=object)
    numbers[names == sep] = 1
    numbers[names == cls] = 0
    return numbers


def feature_of_cells(special: npt.NDArray[np.intp], options: FeatureOptions = DEFAULT) -> npt.NDArray[np.intp]:
    """[n, n] the feature that each cell belongs to; row = query token; special: [n] of `special_columns`."""
    n = len(special)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    window = WINDOWS * distance // n if options.binning == "floor" else -(-WINDOWS * distance // n) - 1
    cells = _FIRST_WINDOW + window
    np.fill_diagonal(cells, len(SPECIAL))
    wins = special >= 0
    cells[:, wins] = special[wins]
    if options.diagonal == "self":
        np.fill_diagonal(cells, len(SPECIAL))
    return cells


def distance_features(maps: npt.NDArray[np.floating], cells: npt.NDArray[np.intp]) -> Floats:
    """[..., 21] features, summing to 1, of every map [..., n, n] without padding; cells: [n, n] from `feature_of_cells`."""
    n = len(cells)
    members = np.zeros((n * n, len(FEATURES)), np.float32)
    members[np.arange(n * n), cells.ravel()] = 1
    flat = widened(maps).reshape(-1, n * n)
    sums = (flat @ members).astype(np.float64) / n
    return sums.reshape(*maps.shape[:-2], len(FEATURES))


def mean_features(
    cached: Iterable[CachedExample], cls: str | None, sep: str | None, options: Sequence[FeatureOptions]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """[option, example, layer, head, 21] features in one pass over the cache of maps over word pieces, and the records."""
    features: list[Floats] = []
    records: list[int] = []
    for example in cached:
        if example.level != "tokens":
            raise AtlasError(
                f"example {example.id}: the attention cache was stored at level {example.level}, but distances are "
                "measured between word pieces: set level: tokens for this corpus."
            )
        special = special_columns(example.tokens, cls, sep)
        features.append(np.stack([distance_features(example.maps, feature_of_cells(special, option)) for option in options]))
        records.append(example.record)
    if not features:
        raise AtlasError("there is no example to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    return np.stack(features, axis=1), np.asarray(records, dtype=np.intp)
