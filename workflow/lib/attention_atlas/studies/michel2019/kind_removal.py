"""Whether a translation model needs the heads of a kind of attention at all, without which single heads say little."""

from __future__ import annotations

import pandas as pd

from attention_atlas.studies.michel2019.caption_rules import KEPT
from attention_atlas.studies.michel2019.names import KIND_TITLES


def dispensable_kinds(figure4: pd.DataFrame) -> dict[str, str]:
    """Kind of attention -> remark, for kinds whose heads can all be masked while BLEU stays at `KEPT` of the full model's.

    Args:
        figure4: columns kind, percent, count, score and baseline of `curves.FIGURE4`; rows without 100 % count for nothing.
    """
    remarks = {}
    for row in figure4[figure4["percent"] == 100].itertuples():
        if row.score >= KEPT * row.baseline:
            title = KIND_TITLES[str(row.kind)].lower()
            remarks[str(row.kind)] = (
                f"with all {row.count} {title} heads masked BLEU is still {row.score:.1f} of {row.baseline:.1f}"
            )
    return remarks
