"""Files of attention maps as Clark et al. released them: pickled by Python 2 (protocol 2), with its numpy."""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from attention_atlas.attention.cache import CachedExample


class Python2(pickle._Pickler):
    """Texts of one byte a character, and the bytes of arrays, are strings of Python 2; numpy has its name of then."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_string(self, text: str | bytes) -> None:
        raw = text if isinstance(text, bytes) else text.encode("latin-1", "replace")
        if isinstance(text, str) and raw.decode("latin-1") != text:
            return pickle._Pickler.save_str(self, text)
        length = b"U" + bytes([len(raw)]) if len(raw) < 256 else b"T" + len(raw).to_bytes(4, "little")
        self.write(length + raw)
        self.memoize(text)

    dispatch[str] = dispatch[bytes] = save_string

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if getattr(obj, "__name__", "") != "_reconstruct":
            return super().save_global(obj, name)
        self.write(b"cnumpy.core.multiarray\n_reconstruct\n")
        self.memoize(obj)

    dispatch[type(len)] = dispatch[type(save_string)] = dispatch[type] = save_global


def write_pickle(path: Path, content: Any) -> Path:
    with path.open("wb") as stream:
        Python2(stream, protocol=2).dump(content)
    return path


def documents(cached: Iterable[CachedExample]) -> Iterator[Mapping[str, Any]]:
    """The dictionaries of a file from cached maps; at level words with their words, and labels that are placeholders."""
    for example in cached:
        text: dict[str, Any] = {"tokens": list(example.tokens)}
        if example.level == "words":
            size = len(example.gold_words)
            text |= {"words": list(example.gold_words), "heads": [0] * size, "relns": ["root"] * size}
        yield text | {"attns": np.array(example.maps)}
