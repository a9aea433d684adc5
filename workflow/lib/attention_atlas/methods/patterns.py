"""Patterns: pairs of tokens that a head is measured on, as specified by a user (`pattern_texts`).

A share is the part of a query token's attention that goes to the key tokens with which the pattern pairs it; query tokens
without such a key are ignored. A word of several word pieces counts with all of them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError, first_line
from attention_atlas.methods.pattern_texts import ANY, FUNCTION, POS, RELATION, TO_DEPENDENT, TO_HEAD, Pattern

Bools = npt.NDArray[np.bool_]
_TAGS = ("upos", "xpos")
"""Layers with parts of speech."""


def check_annotation(pattern: Pattern, examples: Sequence[Example]) -> None:
    """Check that a corpus has the relation or the parts of speech of a pattern.

    Raises:
        AtlasError: no example has it, or the corpus lacks this annotation.
    """
    if pattern.kind == RELATION:
        _check_names(pattern, {pattern.first}, "dependency relation", examples, ("relations",))
    elif pattern.kind == POS:
        _check_names(pattern, {pattern.first, pattern.second} - {ANY}, "part of speech", examples, _TAGS)


def pattern_pairs(pattern: Pattern, examples: Iterable[Example]) -> dict[int, Bools]:
    """[n, n] for each record, whether a pattern pairs a query token (row) with a key token.

    Raises:
        AtlasError: the function cannot be called, or does not return a boolean matrix of the right shape.
    """
    if pattern.kind == FUNCTION:
        function = _function(pattern)
        return {example.record: _called(pattern, function, example) for example in examples}
    return {example.record: _of_tokens(_word_pairs(pattern, example), example.word) for example in examples}


def pattern_share(maps: npt.NDArray[np.floating], pairs: Bools, causal: bool) -> npt.NDArray[np.float64]:
    """[layer, head] mean share of attention that query tokens give to the keys that a pattern pairs them with.

    Args:
        maps: [layer, head, n, n], row = query token.
        pairs: [n, n].
        causal: whether a token attends only to itself and earlier tokens; pairs with later keys are ignored.

    Returns:
        NaN if no query token has such a key.
    """
    visible = np.tril(pairs) if causal else pairs
    queries = visible.any(axis=1)
    if not queries.any():
        return np.full(maps.shape[:2], np.nan)
    shares = np.einsum("lhqk,qk->lhq", maps[:, :, queries].astype(np.float64), visible[queries].astype(np.float64))
    return np.asarray(shares.mean(axis=-1))


def _word_pairs(pattern: Pattern, example: Example) -> Bools:
    """[m, m] pairs of different words."""
    m = len(example.words)
    pairs = np.zeros((m, m), dtype=bool)
    if pattern.kind == RELATION:
        for word, (head, relation) in enumerate(zip(example.layers["heads"], example.layers["relations"], strict=True)):
            if relation == pattern.first and head > 0:
                pairs[word, head - 1] |= pattern.second != TO_DEPENDENT
                pairs[head - 1, word] |= pattern.second != TO_HEAD
        return pairs
    query, key = (_has_tag(example, tag) for tag in (pattern.first, pattern.second))
    pairs = query[:, None] & key[None, :]
    np.fill_diagonal(pairs, False)
    return pairs


def _has_tag(example: Example, tag: str) -> Bools:
    """[m] whether a word has a part of speech, in either tag set of the corpus."""
    if tag == ANY:
        return np.ones(len(example.words), dtype=bool)
    layers = [np.asarray(example.layers[name], dtype=object) == tag for name in _TAGS if name in example.layers]
    return np.asarray(np.logical_or.reduce(layers))


def _of_tokens(pairs: Bools, word: tuple[int, ...]) -> Bools:
    """[n, n] pairs of tokens from pairs of their words; special tokens are in no pair."""
    of_word = np.asarray(word)
    tokens = np.flatnonzero(of_word >= 0)
    expanded = np.zeros((len(word), len(word)), dtype=bool)
    expanded[np.ix_(tokens, tokens)] = pairs[np.ix_(of_word[tokens], of_word[tokens])]
    return expanded


def _check_names(pattern: Pattern, names: set[str], what: str, examples: Sequence[Example], layers: tuple[str, ...]) -> None:
    known = {name for example in examples for layer in layers for name in example.layers.get(layer, ())}
    if not known:
        raise AtlasError(f"pattern '{pattern.text}': the corpus of the atlas has no {what}: name another corpus or pattern.")
    if missing := sorted(names - known):
        listed = ", ".join(sorted(known))
        raise AtlasError(f"pattern '{pattern.text}': no sentence has the {what} '{missing[0]}'; the corpus has {listed}.")


def _function(pattern: Pattern) -> Callable[[Example], object]:
    path = Path(pattern.first)
    description = importlib.util.spec_from_file_location(f"pattern_{path.stem}", path)
    assert description is not None
    assert description.loader is not None
    module: ModuleType = importlib.util.module_from_spec(description)
    try:
        description.loader.exec_module(module)
        function: Callable[[Example], object] = getattr(module, pattern.second)
    except Exception as error:  # a user's module may raise anything
        reason = f"{type(error).__name__}: {first_line(error, 200)}"
        raise AtlasError(f"pattern '{pattern.text}': {path} cannot be imported ({reason}).") from error
    return function


def _called(pattern: Pattern, function: Callable[[Example], object], example: Example) -> Bools:
    n = len(example.tokens)
    try:
        pairs = np.asarray(function(example))
    except Exception as error:  # a user's function may raise anything
        reason = f"{type(error).__name__}: {first_line(error, 200)}"
        raise AtlasError(f"pattern '{pattern.text}': the function fails on example {example.id} ({reason}).") from error
    if pairs.shape != (n, n) or pairs.dtype != bool:
        raise AtlasError(
            f"pattern '{pattern.text}': the function returns {pairs.dtype} of shape {pairs.shape} for example {example.id}; it "
            f"must return a boolean matrix of shape ({n}, {n}): a row and a column for each token, special tokens included."
        )
    return pairs
