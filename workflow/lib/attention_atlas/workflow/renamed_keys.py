"""Renamed keys of the configuration: an old name raises an error with the new name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_atlas.errors import AtlasError

_ANY = "*"
_PROBES = ("runs", _ANY, "tenney2019")
RENAMED: dict[tuple[str, ...], dict[str, str]] = {
    ("models", _ANY): {"hidden": "hidden_size"},
    ("models", _ANY, "source"): {"blank": "untrained"},
    ("models", _ANY, "source", "untrained"): {"hidden": "hidden_size"},
    ("models", _ANY, "training"): {"stored": "stored_dtype"},
    ("families", _ANY, "training"): {"stored": "stored_dtype"},
    ("corpora", _ANY): {"form": "format"},
    ("runs", _ANY, "atlas"): {"drawn": "shown_sentences"},
    ("runs", _ANY, "atlas", "shown_sentences"): {"most_pieces": "max_tokens"},
    ("runs", _ANY, "kovaleva2019"): {
        "measured": "measured_records",
        "ablated": "ablated_records",
        "head_seeds": "classifier_seeds",
    },
    ("runs", _ANY, "michel2019"): {"trained": "trained_translator", "extremes": "excluded_extremes"},
    ("runs", _ANY, "stefanik2021"): {"way": "reduction", "longest": "max_phrase_words", "penalty": "l2_penalty"},
    _PROBES: {
        "most_targets": "max_targets",
        "other_model": "second_model",
        "traced": "max_traced_sentences",
    },
    (*_PROBES, "tasks", _ANY): {"interval": "evaluation_interval", "most_steps": "max_steps"},
    (*_PROBES, "training"): {
        "evaluated": "evaluation_sentences",
        "interval": "evaluation_interval",
        "least_rate": "min_learning_rate",
        "mix_rate": "mixing_rate_factor",
        "most_steps": "max_steps",
    },
}
"""Place in the configuration (`*`: any name) -> old key -> new key."""


def check_renamed_keys(config: Mapping[str, Any]) -> None:
    """Reject key names of earlier versions.

    Raises:
        AtlasError: names the old key with its place, and the new key.
    """
    for place, keys in RENAMED.items():
        for path, mapping in _mappings(config, place, ()):
            for old, new in keys.items():
                if old in mapping:
                    raise AtlasError(f"config: {'.'.join((*path, old))}: this key is now called {new}.")


def _mappings(value: Any, place: tuple[str, ...], path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The mappings at a place, each with its path."""
    if not isinstance(value, Mapping):
        return []
    if not place:
        return [(path, value)]
    names = list(value) if place[0] == _ANY else [place[0]] if place[0] in value else []
    return [inner for name in names for inner in _mappings(value[name], place[1:], (*path, str(name)))]
