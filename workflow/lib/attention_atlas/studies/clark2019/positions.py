"""Attention to the next, previous and current token (section 3.1), as a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.surface import POSITIONS


def positions(surface_path: str | Path, label: RunLabel, out: str | Path, html_out: str | Path) -> None:
    """Write position, layer, head, mean_attention, ci_low, ci_high, n, unit, units; the page has the strongest of each layer.

    The table starts with the strongest head of each position (`strongest_first`).

    The authors' notebook swaps the legend of next and previous; here next is the token at i + 1.
    """
    surface = read_table(surface_path, ["measure", "layer", "head", "value", "ci_low", "ci_high", "n", "unit", "units"])
    table = surface[surface["measure"].isin(POSITIONS)].rename(columns={"measure": "position", "value": "mean_attention"})
    write_table(strongest_first(table), out)
    strongest = table.loc[table.groupby(["position", "layer"], sort=False)["mean_attention"].idxmax()]
    units = f"{int(table['units'].max())} {table['unit'].iloc[0]}"
    notes = [
        label.line,
        f"Mean attention to the token at i + 1 (next), i - 1 (previous) and i (current) over {int(table['n'].max())} segments, "
        f"the strongest head of each layer; intervals: bootstrap over {units}. The tab-separated table has all heads. The "
        "authors' notebook swaps the labels of next and previous.",
    ]
    write_html_table(strongest, html_out, "Clark et al. 2019, section 3.1: relative position", notes)


def strongest_first(table: pd.DataFrame) -> pd.DataFrame:
    """The rows by the rank of the head among those of its position: the strongest head of each position, then the second, ...

    Heads with the same attention keep their order.
    """
    rank = table.groupby("position", sort=False)["mean_attention"].rank(method="first", ascending=False)
    place = table["position"].map({name: k for k, name in enumerate(POSITIONS)})
    return table.assign(rank=rank, place=place).sort_values(["rank", "place"], kind="stable").drop(columns=["rank", "place"])
