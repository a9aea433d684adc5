"""Choices of Clark et al. (2019) on which paper, published code and good practice differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Options:
    """One setting of every choice (see the schema of the configuration); the defaults are those of the published numbers."""

    word_mode: str = "mean"
    poss_rule: bool = True
    poss_in_all: bool = False
    all_tokens: str = "every"
    offsets: tuple[int, ...] = (-3, -2, -1, 0, 1, 2)
    offset_edges: str = "clip"
    sep_sep_denominator: str = "two"
    position_denominator: str = "all"
    entropy_smoothing: float = 1e-4

    def option_text(self, name: str) -> str:
        """One option in words, as tables show it."""
        value = getattr(self, name)
        return f"{min(value)} to {max(value)}" if name == "offsets" else in_words(value)


def in_words(value: Any) -> str:
    """The value of an option as tables show it."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


AS_PUBLISHED = Options()
CORRECTED = Options(
    poss_rule=False,
    all_tokens="words",
    offsets=(-3, -2, -1, 0, 1, 2, 3),
    offset_edges="none",
    sep_sep_denominator="count",
    position_denominator="valid",
    entropy_smoothing=0.0,
)
PRESETS = {"as_published": AS_PUBLISHED, "corrected": CORRECTED}


def options_of(settings: Mapping[str, Any]) -> Options:
    """The options of a run: its preset, overridden by its individual keys."""
    overrides: dict[str, Any] = {k: tuple(v) if k == "offsets" else v for k, v in settings.items() if k != "preset"}
    return replace(PRESETS[settings["preset"]], **overrides)


def alternatives() -> list[tuple[str, Options]]:
    """Each option changed alone from the published setting to the alternative: (name, options)."""
    published, corrected = asdict(AS_PUBLISHED), asdict(CORRECTED)
    # The first three are not corrections but other choices that the authors made or left open.
    moved: list[tuple[str, Any]] = [("word_mode", "first"), ("word_mode", "max"), ("poss_in_all", True)]
    moved += [(name, value) for name, value in corrected.items() if value != published[name]]
    return [(name, replace(AS_PUBLISHED, **{name: value})) for name, value in moved]
