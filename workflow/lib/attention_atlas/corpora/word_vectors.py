"""Word vectors: a text file in GloVe's format, or a model's input embeddings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import decoded, raw_lines


@dataclass(frozen=True)
class WordVectors:
    """Vectors by lower-cased word."""

    label: str
    words: Sequence[str]  # those of the second row and all others; row 0 is zeros, for words without a vector
    vectors: npt.NDArray[np.float32]  # [row, dimension] float32

    @cached_property
    def index(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words, start=1)}

    @property
    def dimensions(self) -> int:
        return int(self.vectors.shape[1])

    def of(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """[word, dimension]; zeros for words without a vector."""
        return self.vectors[[self.index.get(word.lower(), 0) for word in words]]

    def coverage(self, examples: Iterable[Example]) -> float:
        """Share of the words of examples that have a vector."""
        return float(np.mean([word.lower() in self.index for example in examples for word in example.words]))


def read_vector_file(path: str | Path, words: Collection[str] | None, lines: int | None = None) -> WordVectors:
    """Read the vectors of `words` (lower-cased; None: of all words) from lines "word number number ...", at most `lines`.

    The first line sets the number of dimensions d, and the last d fields of a line are the vector: in GloVe 840B some words
    contain spaces (". . ."). Of several vectors of a word the first is kept. A first line of two integers (rows and dimensions,
    as written by word2vec) is skipped.
    """
    index: dict[str, int] = {}
    rows: list[npt.NDArray[np.float32]] = []
    dimensions = 0
    for number, raw in islice(raw_lines(path), lines):
        fields = decoded(raw, f"{path}:{number}").rstrip("\r\n ").split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
            continue
        dimensions = dimensions or len(fields) - 1
        if len(fields) <= dimensions or not dimensions:
            wanted = dimensions or "at least one"
            raise AtlasError(f"{path}:{number}: {len(fields) - 1} numbers instead of {wanted}; the file is damaged.")
        word, numbers = " ".join(fields[:-dimensions]), fields[-dimensions:]
        if (words is not None and word not in words) or word in index:
            continue
        try:
            rows.append(np.asarray(numbers, dtype=np.float32))
        except ValueError as error:
            raise AtlasError(f"{path}:{number}: the vector of '{word}' holds something that is not a number.") from error
        if not np.isfinite(rows[-1]).all():
            raise AtlasError(f"{path}:{number}: the vector of '{word}' is not finite; the file is damaged.")
        index[word] = len(rows)
    if not dimensions:
        raise AtlasError(f"{path}: there is no vector in this file; each line is a word and its numbers, separated by spaces.")
    vectors = np.vstack([np.zeros((1, dimensions), np.float32), *rows])
    return WordVectors(f"{Path(path).name}, {dimensions} dimensions", list(index), vectors)


def static_vectors(
    embeddings: npt.NDArray[np.float32], examples: Sequence[Example], fitted_on: Sequence[Example], dimensions: int, model: str
) -> WordVectors:
    """A model's input embeddings [token, width] as vectors of the words of `examples`.

    The vector of a word is the mean over its tokens, reduced to `dimensions` principal components, which are fitted on the
    vocabulary of `fitted_on`. `model` is its name, for the label.
    """
    from sklearn.decomposition import PCA
    from threadpoolctl import threadpool_limits

    pieces: dict[str, list[int]] = {}
    for example in examples:
        of_example: dict[int, list[int]] = {}
        for piece, word in zip(example.input_ids, example.word, strict=True):
            of_example.setdefault(word, []).append(piece)
        of_example.pop(SPECIAL, None)
        for word, ids in sorted(of_example.items()):
            pieces.setdefault(example.words[word].lower(), ids)
    names = sorted(pieces)
    means = np.stack([embeddings[pieces[name]].mean(axis=0) for name in names])
    seen = {word.lower() for example in fitted_on for word in example.words}
    chosen = np.asarray([name in seen for name in names])
    count = min(dimensions, means.shape[1], int(chosen.sum()))
    with threadpool_limits(1, user_api="blas"):  # sums of several threads differ in the last digit
        components = PCA(count, svd_solver="full").fit(means[chosen].astype(np.float64))
        reduced = components.transform(means.astype(np.float64)).astype(np.float32)
    # Scaled like published vectors, so that the same learning rate suits both.
    reduced /= np.float32(reduced[chosen].std() / 0.4)
    vectors = np.vstack([np.zeros((1, count), np.float32), reduced])
    return WordVectors(f"static input embeddings of {model}, {count} dimensions", names, vectors)


def vector_file(paths: Sequence[str | Path]) -> Callable[[Collection[str]], WordVectors]:
    """`read_vector_file` of the only path, for some words."""
    return functools.partial(read_vector_file, paths[0])


VectorFile = Annotated[Callable[[Collection[str]], WordVectors], vector_file]
"""A file of vectors, as a parameter of a function that a job calls."""
