"""The special token that a model attends to most: BERT's is [SEP], others have another (section 3.2)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.io.tables import read_table

TOKENS = {"cls": "[CLS]", "sep": "[SEP]"}


def special_token_shares(surface: pd.DataFrame) -> str:
    """The special tokens with the mean attention to each from layer 2 on, most first: `[CLS] (30.1 %), [SEP] (1.9 %)`.

    Args:
        surface: measure, layer, value of all heads.

    Returns:
        The words; empty for a model without special tokens.
    """
    later = surface[(surface["layer"] > 1) | (surface["layer"].max() == 1)]
    shares = later[later["measure"].isin(TOKENS)].groupby("measure")["value"].mean().sort_values(ascending=False)
    return ", ".join(f"{TOKENS[str(name)]} ({100 * share:.1f} %)" for name, share in shares.items())


def strongest_special_token(surface_path: str | Path) -> str:
    """One sentence that names the special token with most attention from layer 2 on, with its share and that of the next one.

    Args:
        surface_path: measures of all heads.

    Returns:
        The sentence; empty for a model without special tokens.

    Raises:
        AtlasError: the table cannot be used.
    """
    shares = special_token_shares(read_table(surface_path, ["measure", "layer", "head", "value"]))
    return f"Special token with most attention in this model, mean over heads from layer 2 on: {shares}." if shares else ""
