"""The special token that a model attends to most: BERT's is [SEP], others have another (section 3.2)."""

from __future__ import annotations

from pathlib import Path

from attention_atlas.io.tables import read_table

TOKENS = {"cls": "[CLS]", "sep": "[SEP]"}


def strongest_special_token(surface_path: str | Path) -> str:
    """One sentence that names the special token with most attention from layer 2 on, with its share and that of the next one.

    Args:
        surface_path: measures of all heads.

    Returns:
        The sentence; empty for a model without special tokens.

    Raises:
        AtlasError: the table cannot be used.
    """
    surface = read_table(surface_path, ["measure", "layer", "head", "value"])
    later = surface[(surface["layer"] > 1) | (surface["layer"].max() == 1)]
    shares = later[later["measure"].isin(TOKENS)].groupby("measure")["value"].mean().sort_values(ascending=False)
    if shares.empty:
        return ""
    first, *next_tokens = (f"{TOKENS[str(name)]} ({100 * share:.1f} %)" for name, share in shares.items())
    second = f", {next_tokens[0]}" if next_tokens else ""
    return f"Special token with most attention in this model, mean over heads from layer 2 on: {first}{second}."
