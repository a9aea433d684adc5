"""Patterns: pairs of tokens that a head is measured on, as specified by a user (`pattern_texts`).

A share is the part of a query token's attention that goes to the key tokens with which the pattern pairs it; query tokens
without such a key are ignored.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from types import ModuleType

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError, first_line
from attention_atlas.methods.pattern_texts import Pattern

Bools = npt.NDArray[np.bool_]


def pattern_pairs(pattern: Pattern, examples: Iterable[Example]) -> dict[int, Bools]:
    """[n, n] for each record, whether a pattern pairs a query token (row) with a key token.

    Raises:
        AtlasError: the function cannot be called, or does not return a boolean matrix of the right shape.
    """
    function = _function(pattern)
    return {example.record: _called(pattern, function, example) for example in examples}


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


def _function(pattern: Pattern) -> Callable[[Example], object]:
    description = importlib.util.spec_from_file_location(f"pattern_{pattern.path.stem}", pattern.path)
    assert description is not None
    assert description.loader is not None
    module: ModuleType = importlib.util.module_from_spec(description)
    try:
        description.loader.exec_module(module)
        function: Callable[[Example], object] = getattr(module, pattern.function)
    except Exception as error:  # a user's module may raise anything
        reason = f"{type(error).__name__}: {first_line(error, 200)}"
        raise AtlasError(f"pattern '{pattern.text}': {pattern.path} cannot be imported ({reason}).") from error
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
