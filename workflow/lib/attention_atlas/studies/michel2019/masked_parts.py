"""Answers with masked heads that several jobs share, joined; apart from `masked_answers`, so that no job loads torch for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from attention_atlas.io.tables import read_parquet, write_parquet
from attention_atlas.methods.names import ANSWERS, KEYS


def join_parts(
    parts: Sequence[str | Path], second_parts: Sequence[str | Path], out: str | Path, second_out: str | Path
) -> None:
    """Write the answers of all parts as one table a corpus, as one job would have written them.

    Args:
        parts, second_parts: output of `mask_heads` for each part, in their order.
        out, second_out: Parquet files.

    Raises:
        AtlasError: a table cannot be read.
    """
    for paths, path in ((parts, out), (second_parts, second_out)):
        write_parquet(pd.concat([read_parquet(part, [*KEYS, *ANSWERS]) for part in paths], ignore_index=True), path)
