"""The attention cache: shards of maps, one safetensors file with a JSON description beside it.

results/{run}/attention/{model}/{corpus}/{shard}.safetensors    maps [layer, head, n, n] in float16, by record
    results/{run}/attention/{model}/{corpus}/{shard}.json           description and checksum

In a notebook, `load` opens a built run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from safetensors import SafetensorError, safe_open

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.shards import check_shard, damaged, read_description, tensor_name
from attention_atlas.io.tables import read_table

_BITS = 13  # number of bits by which the fraction of a float32 is longer than that of a float16
_BIAS = np.float32(2.0**112)  # 2 to the difference of their exponents' offsets


def widened(maps: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """Attention in float32, exactly; a tenth of the time of `astype`.

    A float16 shifted to the position of a float32 is the same number up to the offset of its exponent, even if subnormal.
    """
    if maps.dtype != np.float16:
        return np.asarray(maps, dtype=np.float32)
    wide = np.ascontiguousarray(maps).view(np.uint16).astype(np.uint32)
    wide <<= _BITS
    numbers = wide.view(np.float32)
    numbers *= _BIAS
    return numbers.reshape(maps.shape)


WORD_MODES = ("mean", "first", "max")


def unit_starts(word: Sequence[int]) -> npt.NDArray[np.intp]:
    """First token of every unit; units are words and single special tokens."""
    marks = np.asarray(word)
    new = np.ones(len(marks), dtype=bool)
    new[1:] = (marks[1:] != marks[:-1]) | (marks[1:] == SPECIAL)
    return np.flatnonzero(new)


def to_words(maps: npt.NDArray[np.floating], word: Sequence[int], mode: str = "mean") -> npt.NDArray[np.float32]:
    """Reduce maps over word pieces to maps over words (Clark et al. 2019, section 4.1).

    Attention to a word is the sum over its tokens. Attention from a word is the mean over its tokens, so that rows still sum
    to 1; or, as the published code does by default, the row of its first token; or the maximum, divided by the row's sum.

    `maps`: [..., n, n], row = query token. Returns [..., m, m] in float32, m = words and special tokens.
    """
    if mode not in WORD_MODES:
        raise ValueError(f"unknown word mode {mode!r}, expected one of {', '.join(WORD_MODES)}")
    if maps.shape[-1] != len(word) or maps.shape[-2] != len(word):
        raise ValueError(f"maps of shape {maps.shape} do not match {len(word)} tokens")
    starts = unit_starts(word)
    wide = widened(maps)
    if len(starts) == len(word):
        return wide
    columns = np.add.reduceat(wide, starts, axis=-1)
    if mode == "first":
        return np.ascontiguousarray(columns[..., starts, :])
    if mode == "max":
        largest: npt.NDArray[np.float32] = np.maximum.reduceat(columns, starts, axis=-2)
        return largest / largest.sum(axis=-1, keepdims=True)
    sizes = np.diff(np.append(starts, len(word))).astype(np.float32)
    sums: npt.NDArray[np.float32] = np.add.reduceat(columns, starts, axis=-2)
    sums /= sizes[:, None]
    return sums


@dataclass(frozen=True)
class CachedExample:
    record: int  # record, id: position in the corpus (from 0) and name of the example
    id: str
    level: str  # `tokens` or `words`: unit of the rows and columns of the maps
    tokens: tuple[str, ...]  # the word pieces, including special tokens
    word: tuple[int, ...]  # for each token the position of its word, -1 for a special token
    gold_words: tuple[str, ...]  # the words without special tokens
    # [layer, head, n, n] float16, row = query token, rows sum to 1; n tokens or, at level `words`, words and specials
    maps: npt.NDArray[np.float16]
    document: str | None = None  # the document that the example is taken from; None if unknown

    @property
    def words(self) -> tuple[str, ...]:
        """Names of the rows of `word_maps`: words and special tokens, in order."""
        marks = [self.word[i] for i in unit_starts(self.word)]
        specials = (token for token, mark in zip(self.tokens, self.word, strict=True) if mark == SPECIAL)
        return tuple(next(specials) if mark == SPECIAL else self.gold_words[mark] for mark in marks)

    @property
    def special_units(self) -> npt.NDArray[np.bool_]:
        """Which rows of `word_maps` belong to special tokens."""
        return np.asarray(self.word)[unit_starts(self.word)] == SPECIAL

    def word_maps(self, mode: str = "mean") -> npt.NDArray[np.float32]:
        """[layer, head, m, m] over words and special tokens; see `to_words`."""
        if self.level == "tokens":
            return to_words(self.maps, self.word, mode)
        if mode != "mean":
            raise AtlasError(f"example {self.id}: the cache was stored at level words (mean); mode {mode} needs level: tokens.")
        return widened(self.maps)


def read_attention(
    source: str | Path | Sequence[str | Path], limit: int | None = None, verify: bool = True
) -> Iterator[CachedExample]:
    """Yield the cached examples of shards in order; one example is in memory at a time.

    `verify`: check each shard against its checksum before use (reads the file once).
    """
    if isinstance(source, str | Path):
        shards = sorted(Path(source).glob("*.safetensors"), key=lambda path: (len(path.stem), path.stem))
        if not shards:
            raise AtlasError(f"{source}: there are no attention shards in this folder.")
        source = shards
    # Jobs have the descriptions among the files, so that Snakemake notices other maps.
    for path in (path for path in map(Path, source) if path.suffix != ".json"):
        facts = read_description(path)
        if verify:
            check_shard(path, facts)
        try:
            with safe_open(path, framework="np") as shard:
                for example in facts["examples"]:
                    if limit is not None and example["record"] >= limit:
                        return
                    yield CachedExample(
                        record=example["record"],
                        id=example["id"],
                        level=facts["level"],
                        tokens=tuple(example["tokens"]),
                        word=tuple(example["word"]),
                        gold_words=tuple(example["words"]),
                        maps=shard.get_tensor(tensor_name(example["record"])),
                        document=example.get("document"),
                    )
        except (SafetensorError, OSError) as error:
            raise damaged(path, str(error)) from error


class Run(NamedTuple):
    """What a notebook reads of a built run."""

    folder: Path
    heads: pd.DataFrame  # one row per model, layer and head (from 1), one column per measure
    measures: pd.DataFrame  # one row per model and measure: title, unit, n, why it is missing, ...

    def maps(self, model: str, corpus: str) -> Iterator[CachedExample]:
        """The attention of a model on a corpus, one example at a time."""
        return read_attention(self.folder / "attention" / model / corpus)


def load(folder: str | Path) -> Run:
    """The heads, measures and maps of a run, such as results/laptop."""
    tables = [Path(folder, "atlas", f"{name}.tsv") for name in ("heads", "measures")]
    if absent := [table for table in tables if not table.is_file()]:
        raise AtlasError(f"{absent[0]}: there is no such table. Name the folder of a run (results/NAME) with a built atlas.")
    return Run(Path(folder), *map(read_table, tables))


class StoredAttention:
    """Cached examples that are read again in each iteration; checksums are compared in the first.

    Arguments and errors as for `read_attention`.
    """

    def __init__(self, source: str | Path | Sequence[str | Path], limit: int | None = None) -> None:
        self._source, self._limit, self._verified = source, limit, False

    def __iter__(self) -> Iterator[CachedExample]:
        yield from read_attention(self._source, self._limit, verify=not self._verified)
        self._verified = True


RepeatedAttention = Annotated[Iterable[CachedExample], StoredAttention]
"""Cached examples that a function reads several times, as a parameter of a function that a job calls."""
Attention = Annotated[Iterator[CachedExample], read_attention]  # cached examples, as a parameter of a function that a job calls


def with_attention(examples: Iterable[Example], cached: Iterable[CachedExample]) -> Iterator[tuple[Example, CachedExample]]:
    """Yield each example with its attention."""
    cached_examples = iter(cached)
    for example in examples:
        cached_example = next(cached_examples, None)
        if cached_example is None or (example.record, example.id) != (cached_example.record, cached_example.id):
            fault = "ends before" if cached_example is None else f"has example {cached_example.id} in place of"
            raise AtlasError(
                f"the attention cache {fault} {example.id}: delete the attention folder of this corpus and run again."
            )
        yield example, cached_example
