"""The shape of a model from its config.json, without loading a library that knows the architecture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError

SHAPE = ("layers", "heads", "hidden_size")
"""Keys of a model's shape, as in the registry."""
_NAMES = {
    "layers": ("encoder_layers", "num_hidden_layers", "n_layers", "n_layer", "num_layers"),
    "heads": ("encoder_attention_heads", "num_attention_heads", "n_heads", "n_head", "num_heads"),
    "hidden_size": ("hidden_size", "d_model", "dim", "n_embd"),
    "longest_input": ("max_position_embeddings", "n_positions"),
}
"""Fact -> its names in architectures (`attribute_map` of their configurations in transformers), the encoder's first."""
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert")
"""Architectures that number positions from the padding index."""


def read_shape(folder: str | Path) -> dict[str, int]:
    """Layers, heads, hidden_size and longest_input (tokens) of the model in a folder, as far as its config.json has them.

    Raises:
        AtlasError: config.json is not a JSON object; names the file.
    """
    file = Path(folder, "config.json")
    try:
        settings: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AtlasError(
            f"{folder}: the configuration cannot be read ({type(error).__name__}: config.json is not JSON)."
        ) from error
    if not isinstance(settings, dict):
        raise AtlasError(f"{folder}: the configuration cannot be read (config.json is not a JSON object).")
    # The part that reads text, if the model has several.
    settings = next((settings[part] for part in ("text_config", "encoder") if isinstance(settings.get(part), dict)), settings)
    shape = {}
    for fact, names in _NAMES.items():
        value = next((settings[name] for name in names if isinstance(settings.get(name), int)), None)
        if value is not None:
            shape[fact] = value
    if "longest_input" in shape:
        shape["longest_input"] -= unused_positions(settings.get("model_type", ""), settings.get("pad_token_id", 1))
    return shape


def unused_positions(model_type: str, padding: int | None) -> int:
    """Positions of an architecture that no token uses: those up to the padding index, if positions are counted from there."""
    return (padding or 0) + 1 if model_type in _OFFSET_POSITIONS else 0
