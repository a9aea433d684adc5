"""The measurement of the example study, its table, its figure, and the comparison with its published values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from attention_atlas.attention.cache import Attention
from attention_atlas.errors import AtlasError
from attention_atlas.figures.marks import draw_head_grid
from attention_atlas.figures.style import DrawnFigure, panels
from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_tables import mean_rows
from attention_atlas.published.compare import compare, value_table
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.values import load_published
from attention_atlas.workflow.shown import figure, table

RESAMPLES, SEED = 200, 0


def self_attention(attention: Attention) -> pd.DataFrame:
    """Mean attention weight from a token to itself: layer, head, value, ci_low, ci_high (bootstrap over texts), n."""
    # [layer, head] for each text: the mean over the diagonal of its maps.
    values = [np.diagonal(text.maps, axis1=-2, axis2=-1).mean(axis=-1, dtype=np.float64) for text in attention]
    if not values:
        raise AtlasError("there is no text to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    return mean_rows(np.stack(values), RESAMPLES, SEED)


@table(title="Attention to the same token, by layer", reads=("self_attention",), labels=("texts",))
def table1(self_attention: pd.DataFrame) -> Table:
    """Share of attention that tokens pay to themselves, mean and highest head of each layer (example study 2024, Table 1)."""
    by_layer = self_attention.groupby("layer")["value"]
    highest = self_attention.loc[[*by_layer.idxmax(), self_attention["value"].idxmax()]]
    shares = {"layer": [*by_layer.groups, "all"], "share": [*by_layer.mean(), self_attention["value"].mean()]}
    best = {"highest_head": highest["head"].to_numpy(), "highest_share": highest["value"].to_numpy()}
    return Table(pd.DataFrame(shares | best).assign(n=int(self_attention["n"].max())))


@figure(title="Attention to the same token, by head", reads=("self_attention",), labels=("texts",))
def figure1(self_attention: pd.DataFrame) -> DrawnFigure:
    """Share of attention that tokens pay to themselves, for every head (example study 2024, Figure 1)."""
    shares = self_attention.rename(columns={"value": "share"})[["layer", "head", "share"]]
    drawn, (axes,) = panels(4.6, 3.2, count=1)
    image = draw_head_grid(axes, shares, "share", "viridis", 0, float(shares["share"].max()))
    axes.set(xlabel="Head", ylabel="Layer")
    drawn.colorbar(image, ax=axes, label="Attention to the same token (share)")
    return DrawnFigure(drawn, shares, f"n = {int(self_attention['n'].max())} texts")


@table(title="Published numbers", reads=("table1",), labels=("texts",))
def comparison(table1: pd.DataFrame, labels: Mapping[str, RunLabel]) -> Table:
    """Every published number of the example study (2024) beside what this run measured."""
    frames = {"table1": table1, "quantities": quantities([Quantity("resamples", RESAMPLES)])}
    published = load_published("toy2024")
    return value_table(compare(published, measure(published, frames, labels)))
