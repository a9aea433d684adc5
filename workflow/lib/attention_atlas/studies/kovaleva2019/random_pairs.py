"""Random pairs of tokens at the distances of linked ones: the control of attention between linked words, and the margin."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from attention_atlas.stats.extremes import mean_deviations, simultaneous_widths
from attention_atlas.stats.levels import LEVEL
from attention_atlas.studies.kovaleva2019.names import FEWEST_EXAMPLES

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]
"""Query and key."""


def other_pairs(
    pairs: Sequence[Pair], linked: Collection[Pair], words: Sequence[bool], draws: int, generator: np.random.Generator
) -> npt.NDArray[np.int64] | None:
    """[pair, draw] queries of random pairs at the same distances, none of them linked; None where a distance has no other pair.

    Args:
        pairs: (query, key); the keys of the random pairs lie as far from their queries.
        linked: pairs that are not drawn.
        words: [n] which tokens are not special.
        draws: random pairs for each pair.
        generator: of the draws.
    """
    allowed = np.flatnonzero(words).tolist()
    inside = set(allowed)
    queries = {
        offset: [k for k in allowed if k + offset in inside and (k, k + offset) not in linked]
        for offset in {key - query for query, key in pairs}
    }
    if not all(queries.values()):
        return None
    return np.stack([generator.choice(queries[key - query], draws) for query, key in pairs])


def margin_columns(scores: Floats, controls: Floats, resamples: int, seed: int) -> dict[str, Floats | int]:
    """Columns of a table of heads: control, margin, margin_all_low, margin_all_high and n_margin.

    Args:
        scores: [unit, layer, head] attention between linked words.
        controls: the same of random pairs, NaN for a unit without one; all columns are over the units with a control.
        resamples, seed: of the bootstrap over units, for an interval of the margin that covers all heads together.
    """
    margins = (scores - controls).reshape(len(scores), -1)
    margins = margins[~np.isnan(margins[:, 0])]
    control, margin, width = (np.full(scores[0].size, np.nan) for _ in range(3))
    if len(margins):
        control, margin = np.nanmean(controls, axis=0).ravel(), margins.mean(axis=0)
    if len(margins) >= FEWEST_EXAMPLES:
        width = simultaneous_widths(mean_deviations(margins, resamples, seed), LEVEL)
    ends = {"margin_all_low": margin - width, "margin_all_high": margin + width}
    return {"control": control, "margin": margin, **ends, "n_margin": len(margins)}
