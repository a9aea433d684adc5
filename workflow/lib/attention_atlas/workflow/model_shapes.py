"""The shape of every model: from its config.json if available, else from its registry entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.models.folders import model_folder
from attention_atlas.models.shape import SHAPE, read_shape

HEAD_WIDTH = 64
"""Width of a head in BERT: the default hidden size of an entry is this times its number of heads."""
_BERT_BASE = {"layers": 12, "heads": 12}
"""Default for a new model, and for one whose files are not present yet."""


def fill_shapes(config: dict[str, Any]) -> None:
    """Set layers, heads and hidden_size of all models of the registry, in place.

    Raises:
        AtlasError: an entry contradicts its model's config.json, or the shape of a hub model is unknown.
    """
    models = config["models"]
    known: dict[str, tuple[dict[str, int], str]] = {}
    for name, entry in models.items():
        source = entry["source"]
        if "fine_tuned" in source:
            continue
        if "untrained" in source:
            shape, origin = {"hidden_size": source["untrained"]["hidden_size"]}, ""
        else:
            key = repr(sorted(source.items()))
            if key not in known:
                known[key] = _known_shape(source, config["data_mirror"])
            shape, origin = known[key]
            _check_stated(name, entry, shape, origin)
        _fill(name, entry, shape)
    for entry in models.values():
        if "fine_tuned" in entry["source"]:
            base = models.get(entry["source"]["fine_tuned"], {})
            for key in SHAPE:
                if key not in entry:
                    # A missing base is reported elsewhere.
                    entry[key] = base.get(key, 1)


def _known_shape(source: Mapping[str, Any], mirror: str | None) -> tuple[dict[str, int], str]:
    """What config.json says of the shape of a model if its files are on this machine, and where it is."""
    try:
        folder = model_folder(source, mirror)
        shape = read_shape(folder) if folder is not None else {}
    except AtlasError:
        # Reported where a run needs the model (`requirements.model_requirement`); other runs go on.
        folder, shape = None, {}
    return {key: shape[key] for key in SHAPE if key in shape}, f"config.json in {folder}"


def _check_stated(name: str, entry: Mapping[str, Any], shape: Mapping[str, int], origin: str) -> None:
    for key, value in shape.items():
        if entry.get(key, value) != value:
            raise AtlasError(
                f"config: models.{name}.{key}: {entry[key]} contradicts {origin}, which says {value}. Correct the key, or "
                "remove it: the value is then read from there."
            )


def _fill(name: str, entry: dict[str, Any], shape: Mapping[str, int]) -> None:
    for key, value in shape.items():
        entry.setdefault(key, value)
    source = entry["source"]
    if "hub" in source and not {"layers", "heads"} <= entry.keys():
        revision = f" --revision {source['revision']}" if "revision" in source else ""
        raise AtlasError(
            f"config: models.{name}: the shape of {source['hub']} is not known yet: state layers, heads and hidden_size, or "
            f"run `hf download {source['hub']} config.json{revision}` first."
        )
    for key, value in _BERT_BASE.items():
        entry.setdefault(key, value)
    entry.setdefault("hidden_size", HEAD_WIDTH * entry["heads"])
