"""Join the answers with masked and with pruned heads of several jobs, without loading torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from attention_atlas.io.tables import read_parquet, write_parquet
from attention_atlas.methods.names import ANSWERS, KEYS, STEP


def join_parts(
    parts: Sequence[str | Path], second_parts: Sequence[str | Path], out: str | Path, second_out: str | Path
) -> None:
    """Write the answers of all parts as one table per corpus, as a single job would have written them.

    Args:
        parts, second_parts: output of `mask_heads` for each part, in their order.
        out, second_out: Parquet files.

    Raises:
        AtlasError: a table cannot be read.
    """
    for paths, path in ((parts, out), (second_parts, second_out)):
        write_parquet(pd.concat([read_parquet(part, [*KEYS, *ANSWERS]) for part in paths], ignore_index=True), path)


def join_pruned(parts: Sequence[str | Path], out: str | Path) -> None:
    """Write the answers of all curves as one table, as a single job would have written them.

    Args:
        parts: output of `prune_heads` for some curves each, in their order.
        out: Parquet file.

    Raises:
        AtlasError: a table cannot be read.
    """
    write_parquet(pd.concat([read_parquet(part, [*STEP, *ANSWERS]) for part in parts], ignore_index=True), out)
