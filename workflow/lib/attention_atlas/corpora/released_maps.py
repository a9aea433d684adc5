"""Attention maps that authors released, read in place of a model: the files of Clark et al. (2019), pickled by Python 2.

`unlabeled_attn.pkl` and `depparse/{dev,train}_attn.pkl` are lists of dictionaries with `tokens` ([CLS] A [SEP] B [SEP], word
pieces), `attns` (float16 [layer, head, from, to], without padding; a text that was too long has none) and, for treebanks,
`words`, over which (with [CLS] and [SEP]) the maps then are. `head_distances.pkl` is an array [head, head]: the sum over all
tokens of the segments of the Jensen-Shannon divergence in nats; heads of a layer are consecutive.

A pickle is a program. It is run here by a machine that knows the instructions of such files and calls nothing; a file with any
other instruction or name is refused. One dictionary is in memory at a time, since a file has several GB.
"""

from __future__ import annotations

import io
import math
import pickletools
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.conllu import SeveralRootsError, Tree, tree_builders
from attention_atlas.corpora.examples import Example, ExampleBuilder, read_examples
from attention_atlas.corpora.records import Dropped
from attention_atlas.errors import AtlasError
from attention_atlas.io.shards import cache_facts, new_shard

MOST_CELLS = 12 * 12 * 128 * 128  # of an array: BERT-base on 128 tokens
_MOST_VALUES, _MOST_BYTES = 20_000, 32 * MOST_CELLS  # instructions and bytes of one text; 128 tokens need about 1,500
_KEPT = 1000  # characters of the longest string that a later text may refer to
_NAMES = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct", "numpy dtype", "numpy ndarray")
_TYPES = ("f2", "f4", "f8")
_PLAIN = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "SHORT_BINSTRING", "BINSTRING", "BINUNICODE", "GLOBAL"}
_NEW: dict[str, Any] = {"NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": bool}
_NEW |= {"EMPTY_TUPLE": tuple, "EMPTY_LIST": list, "EMPTY_DICT": dict}
_SPECIALS = ("[CLS]", "[SEP]")
_IGNORED = ("Mn", "Cc", "Cf", "Zs")  # kinds of characters in words that no token of BERT spells
_ROW_ERROR = 0.02  # of the sum of a row: 128 numbers in float16, summed over word pieces in float16


class _Array(list[Any]):
    """A place for an array, which a file makes in two steps."""


class Released(NamedTuple):
    number: int  # in the file, from 1
    tokens: tuple[str, ...]
    words: tuple[str, ...]  # empty if the maps are over word pieces
    maps: npt.NDArray[np.floating] | None


class _Bounded(io.BufferedReader):
    """A file whose claimed lengths are checked before memory is taken for them."""

    def read(self, size: int | None = -1, /) -> bytes:
        if (size or 0) > 8 * MOST_CELLS:
            raise ValueError(f"a string of {size:,} bytes, at most {8 * MOST_CELLS:,} are read")
        return super().read(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return super().readline(_KEPT)


def pickled_items(path: str | Path) -> Iterator[Any]:
    """Yield the items of the list that a file holds, one in memory at a time; or the array that it holds."""
    machine, start, count, position = _Machine(), 0, 0, 0
    try:
        with _Bounded(io.FileIO(path)) as stream:
            for opcode, argument, place in pickletools.genops(stream):
                position, count = place or 0, count + 1
                if count > _MOST_VALUES or position - start > _MOST_BYTES:
                    raise ValueError("one text has more values than any of at most 128 tokens")
                for item in machine.run(opcode.name, argument):
                    yield item[0] if isinstance(item, _Array) else item
                    start, count = position, 0
    except AtlasError as error:
        raise AtlasError(f"{path}: byte {position}: {error}. Nothing of it was run; get the file from its authors.") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise AtlasError(f"{path}: after byte {position}: not a whole file of maps ({error}). Fetch it again.") from error


class _Machine:
    """Follows the instructions of a pickle (protocol 2) without a call: names stay texts, and only arrays are made."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memo: list[Any] = []
        self.fresh: list[int] = []  # places of the memo that were written since the last text
        self.top: Any = None  # the list that the file holds

    def run(self, name: str, argument: Any) -> Iterator[Any]:
        """Follow an instruction; yield what it completes of the list that the file holds."""
        stack = self.stack
        if name == "GLOBAL" and argument not in _NAMES:
            raise AtlasError(f"it names {argument.replace(' ', '.', 1)}, which maps do not need and which may do harm")
        if name in _PLAIN:
            stack.append(sys.intern(argument) if isinstance(argument, str) and len(argument) <= _KEPT else argument)
        elif name in _NEW:
            if name == "EMPTY_DICT" and len(self.marked) == 1 and self.top and self.marked[0][-1] is self.top[0]:
                yield from self.completed(stack)
            stack.append(_NEW[name]())
            self.top = self.top or [stack[0]]
        elif name == "MARK":
            self.marked.append(stack)
            self.stack = []
        elif name in ("APPENDS", "APPEND"):
            items, self.stack = (stack, self.marked.pop()) if name == "APPENDS" else ([stack.pop()], stack)
            if self.stack[-1] is self.top[0]:
                yield from self.completed(items)
            else:
                self.stack[-1].extend(items)
        elif name in ("SETITEMS", "SETITEM"):
            items, self.stack = (stack, self.marked.pop()) if name == "SETITEMS" else (stack[-2:], stack[:-2])
            self.stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif name == "TUPLE":
            self.stack = [*self.marked.pop(), tuple(stack)]
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            stack[-int(name[5]) :] = [tuple(stack[-int(name[5]) :])]
        elif name in ("BINPUT", "LONG_BINPUT"):
            if argument > len(self.memo) + 1:
                raise ValueError(f"place {argument} of a memo with {len(self.memo)}")
            self.memo += [None] * (argument + 1 - len(self.memo))
            self.memo[argument] = stack[-1]
            self.fresh.append(argument)
        elif name in ("BINGET", "LONG_BINGET"):
            if self.memo[argument] is None:
                raise ValueError("it refers to part of an earlier text")
            stack.append(self.memo[argument])
        elif name == "REDUCE":
            arguments, called = stack.pop(), stack.pop()
            if called not in _NAMES[:3] or (called == "numpy dtype" and arguments[0] not in _TYPES):
                raise AtlasError(f"it calls {str(called)[:100]} with {str(arguments)[:100]}, which maps do not need")
            stack.append(np.dtype(f"<{arguments[0]}") if called == "numpy dtype" else _Array())
        elif name == "BUILD":
            state = stack.pop()
            if isinstance(stack[-1], _Array):
                stack[-1][:] = [_array(*state)]
            elif state[1] != "<":
                raise ValueError(f"numbers of byte order {str(state[1])[:100]!r}")
        elif name == "STOP":
            yield from stack if isinstance(stack[-1], _Array) else ()
        elif name != "PROTO":
            raise AtlasError(f"it has the instruction {name}, which maps do not need")

    def completed(self, items: list[Any]) -> Iterator[Any]:
        """Hand over texts, and forget all but the types and strings that later ones may refer to."""
        yield from items
        items.clear()
        for place in self.fresh:
            value = self.memo[place]
            if not (isinstance(value, np.dtype) or (isinstance(value, str) and len(value) <= _KEPT)):
                self.memo[place] = None
        self.fresh.clear()


def _array(version: int, shape: tuple[int, ...], dtype: np.dtype[Any], fortran: bool, data: str) -> npt.NDArray[np.floating]:
    """An array of a pickled state, whose claimed shape is checked first."""
    if not (all(type(size) is int and 0 <= size <= MOST_CELLS for size in shape) and math.prod(shape) <= MOST_CELLS):
        raise ValueError(f"an array of shape {str(shape)[:100]}, at most {MOST_CELLS:,} numbers are read")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"an array of shape {shape} and {dtype} with {len(data):,} bytes")
    return np.frombuffer(data.encode("latin-1"), dtype).reshape(shape, order="F" if fortran else "C")


def released_maps_records(path: str | Path) -> Iterator[Released]:
    """Yield the texts of a file of maps, with the maps checked."""
    for number, item in enumerate(pickled_items(path), start=1):
        where, of_text = f"{path}: text {number}", item if isinstance(item, dict) else {}
        texts = [of_text.get(key, []) for key in ("tokens", "words")]
        if not (texts[0] and all(isinstance(t, list) and all(isinstance(s, str) for s in t) for t in texts)):
            raise AtlasError(f"{where}: no dictionary with lists of tokens (and words): this is not a file of attention maps.")
        (tokens, words), made = map(tuple, texts), of_text.get("attns")
        maps = made[0] if isinstance(made, _Array) and made else None
        if maps is not None:
            n = len(words) + 2 if words else len(tokens)
            if maps.ndim != 4 or maps.shape[2:] != (n, n):
                raise AtlasError(f"{where}: maps of shape {maps.shape} do not fit {n} {'words' if words else 'tokens'}.")
            sums = maps.sum(axis=-1, dtype=np.float32)
            if not (np.abs(sums - 1).max(initial=0) <= _ROW_ERROR and maps.min(initial=0) >= 0):
                raise AtlasError(f"{where}: attention that is negative, not finite or does not sum to 1: the file is damaged.")
        yield Released(number, tokens, words, maps)


def released_maps_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    """The texts as examples, in the order of the file; treebanks with the trees of the user's treebank (`companion`)."""
    trees = None if builder.companion is None else _trees(builder.companion)
    for text in islice(builder.all_records(), stop):
        where, name = f"{builder.raw}: text {text.number}", f"{'segment' if trees is None else 'sentence'} {text.number}"
        if (trees is not None) != bool(text.words):
            raise AtlasError(f"{where} is over {'words: name its treebank' if text.words else 'word pieces: name no'} trees.")
        # The labels that were released are placeholders (every head is 0), so they are not read.
        tree = None if trees is None else next((tree for tree in trees if tree.words == text.words), None)
        if trees is not None and tree is None:
            raise AtlasError(
                f"{where} ({' '.join(text.words[:8])} ...) is not in {builder.companion}, or not in this order. The released "
                "labels are placeholders, so trees are taken from there: convert the same section of the Penn Treebank."
            )
        if text.number > start and text.maps is None:
            yield Dropped(name, "no maps in the file")
        elif text.number > start:
            if tree is None:  # each word piece stands for a word
                words = tuple(token for token in text.tokens if token not in _SPECIALS)
                numbers = iter(range(len(words)))
                word, layers = tuple(SPECIAL if token in _SPECIALS else next(numbers) for token in text.tokens), {}
            else:
                words, word, layers = text.words, _aligned(text, where), {"heads": tree.heads, "relations": tree.relations}
            # Ids that no model has: nothing that a model computes can be mixed with the maps.
            ids, zeros = (-1,) * len(text.tokens), (0,) * len(text.tokens)
            yield Example(0, name, ids, zeros, text.tokens, word, words, layers=layers)


def _trees(path: str | Path) -> Iterator[Tree]:
    for build in tree_builders(path):
        try:
            yield build()
        except SeveralRootsError:
            continue


def _aligned(text: Released, where: str) -> tuple[int, ...]:
    """For each token the position of its word. BERT splits words, without case and accents, into punctuation and other parts,
    and these into word pieces; [UNK] is a whole part.
    """
    word, pieces = [SPECIAL], iter(text.tokens[1:-1])
    for number, spelled in enumerate(text.words):
        letters = unicodedata.normalize("NFD", spelled.lower())
        rest = "".join(letter for letter in letters if unicodedata.category(letter) not in _IGNORED)
        while rest:
            piece = next(pieces, "").removeprefix("##")
            piece = re.findall(r"\w+|.", rest)[0] if piece == "[UNK]" else piece
            if not piece or not rest.startswith(piece):
                raise AtlasError(f"{where}: its tokens do not spell its word {number + 1}, {spelled!r}: the file is damaged.")
            rest = rest.removeprefix(piece)
            word.append(number)
    if len(word) + 1 != len(text.tokens):
        raise AtlasError(f"{where}: it has more tokens than its words: the file is damaged.")
    return (*word, SPECIAL)


def store_maps(
    raw: str | Path, card: Mapping[str, Any], examples_path: str | Path, corpus: str, level: str, out: str, description_out: str
) -> None:
    """Write the maps of one shard of examples, one text in memory at a time; card: facts of a model card."""
    examples = {example.record: example for example in read_examples([examples_path])}
    form = card["layers"], card["heads"]
    sizes = {record: len(e.tokens) if level == "tokens" else len(e.words) + 2 for record, e in examples.items()}
    shapes = {record: (*form, n, n) for record, n in sizes.items()}
    with new_shard(out, description_out, shapes, cache_facts(card, corpus, level, examples.values())) as shard:
        for text in islice(released_maps_records(raw), max(examples, default=-1) + 1):
            if text.number - 1 in examples and text.maps is not None:
                if text.maps.shape[:2] != form:
                    raise AtlasError(f"{raw}: maps of {text.maps.shape[:2]} layers and heads, but the model has {form}.")
                shard.write(text.number - 1, np.ascontiguousarray(text.maps, np.float16))
