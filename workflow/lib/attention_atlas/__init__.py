"""Attention Atlas: what the attention heads of BERT-like models do, by study.

`import attention_atlas as atlas` loads neither torch nor pandas: each name of `__all__` is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_atlas.attention.cache import load, read_attention
    from attention_atlas.attention.engine import attention_shape, install, watch
    from attention_atlas.attention.plans import DECODER_CROSS, DECODER_SELF, ENCODER_SELF, Plan, Site
    from attention_atlas.models.extraction import maps

__version__ = "0.3.0"
__all__ = [
    "DECODER_CROSS",
    "DECODER_SELF",
    "ENCODER_SELF",
    "Plan",
    "Site",
    "attention_shape",
    "install",
    "load",
    "maps",
    "read_attention",
    "watch",
]
_MODULES = {"load": "attention.cache", "read_attention": "attention.cache", "maps": "models.extraction"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"attention_atlas has no {name}")
    return getattr(import_module(f"attention_atlas.{_MODULES.get(name, 'attention.engine')}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
