"""Table 1 of the example study: the share of attention to the same token, by layer."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table


def table1(path: str | Path, label: RunLabel, out: str | Path, html_out: str | Path) -> None:
    """Write layer (`all` last), share, highest_head, highest_share, n and the same as a page."""
    heads = read_table(path, ["layer", "head", "value", "n"])
    highest = heads.loc[heads.groupby("layer")["value"].idxmax()]
    best = heads.loc[heads["value"].idxmax()]
    table = pd.DataFrame(
        {
            "layer": [*highest["layer"].astype(str), "all"],
            "share": [*heads.groupby("layer")["value"].mean(), heads["value"].mean()],
            "highest_head": [*highest["head"], best["head"]],
            "highest_share": [*highest["value"], best["value"]],
            "n": int(heads["n"].max()),
        }
    ).astype({"highest_head": int})
    write_table(table, out)
    notes = [label.line, "Attention weight from a token to itself, mean over tokens and texts."]
    write_html_table(table, html_out, "Example study 2024, Table 1: attention to the same token", notes)
