"""Properties of heads from single maps and from weights: sinks, patterns, norm-weighted attention, copying, repeated tokens.

A block of random tokens is repeated: [CLS] A B C ... A B C ... [SEP]. Only the repetition is predictable. In a block of m
tokens, the token at q in the second half first occurs at q - m. An induction head attends from q to the token after that
occurrence, q - m + 1: the next token if the text repeats itself (Elhage et al. 2021, A Mathematical Framework for Transformer
Circuits, section "Induction heads"; Olsson et al. 2022, In-context Learning and Induction Heads, prefix matching). In an
encoder each half can attend to the other. The length of the block varies between sequences, so that a head that always attends
a fixed number of tokens back reaches the other occurrence for one length only.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.atlas.head_measures import Pattern
from attention_atlas.attention.words import widened
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError, first_line

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Maps = npt.NDArray[np.floating]
"""[layer, head, n, n], row = query token."""
SINK, SEP = "sink", "sep"
SHORTEST, LONGEST = 8, 24
"""Minimum and maximum number of tokens in a block."""
_UNUSED = re.compile(r"^(\[unused\d+\]|<unused\d+>|<extra_id_\d+>|madeupword\d+)$", re.IGNORECASE)


# --- on sentences -----------------------------------------------------------------------------------------------------


def sentence_measures(maps: Maps, example: Example, sep: str | None) -> dict[str, Floats]:
    """Measure -> [layer, head] mean share of a word's attention that goes to sinks, and to [SEP] if the model has one.

    The first token is the sink of decoders (Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks, section
    3.1), [CLS] and [SEP] are those of encoders: words are all other tokens. NaN without words or without such a token.
    """
    special = np.asarray(example.word) == SPECIAL
    sinks, words = special.copy(), ~special
    sinks[0], words[0] = True, False
    targets = {SINK: sinks}
    if sep is not None:
        targets[SEP] = special & (np.asarray(example.tokens) == sep)
        # A model that starts every text with the same token has a sink there.
        targets[SEP][0] = False

    def received(keys: Bools) -> Floats:
        if not words.any() or not keys.any():
            return np.full(maps.shape[:2], np.nan)
        return np.asarray(maps[:, :, words][..., keys].sum(axis=-1, dtype=np.float64).mean(axis=-1))

    return {name: received(keys) for name, keys in targets.items()}


def norm_weighted(maps: Maps, norms: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """[layer, head, n, n] alpha_ij ||f(x_j)||, divided by its sum over j, so that rows sum to 1 like attention weights.

    The output of a head for token i is the sum over tokens j of alpha_ij f(x_j), so ||alpha_ij f(x_j)|| says how much token j
    contributes: a head can attend to [SEP] although f([SEP]) is small (Kobayashi et al. 2020, Attention Is Not Only a Weight,
    section 3). A row to which no token contributes (all f(x_j) are 0) stays 0. `norms`: [layer, head, n] ||f(x_j)||.
    """
    weighted = widened(maps) * norms[:, :, None, :].astype(np.float32)
    sums = weighted.sum(axis=-1, keepdims=True)
    return np.divide(weighted, sums, out=np.zeros_like(weighted), where=sums > 0)


# --- patterns of a user -----------------------------------------------------------------------------------------------


def pattern_pairs(pattern: Pattern, examples: Iterable[Example]) -> dict[int, Bools]:
    """[n, n] for each record, whether a pattern pairs a query token (row) with a key token."""
    described = importlib.util.spec_from_file_location(f"pattern_{pattern.path.stem}", pattern.path)
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    try:
        described.loader.exec_module(module)
        function = getattr(module, pattern.function)
    except Exception as error:  # a user's module may raise anything
        reason = f"{type(error).__name__}: {first_line(error, 200)}"
        raise AtlasError(f"pattern '{pattern.text}': {pattern.path} cannot be imported ({reason}).") from error
    by_record: dict[int, Bools] = {}
    for example in examples:
        n = len(example.tokens)
        try:
            pairs = np.asarray(function(example))
        except Exception as error:  # a user's function may raise anything
            reason = f"{type(error).__name__}: {first_line(error, 200)}"
            raise AtlasError(f"pattern '{pattern.text}': the function fails on example {example.id} ({reason}).") from error
        if pairs.shape != (n, n) or pairs.dtype != bool:
            raise AtlasError(
                f"pattern '{pattern.text}': the function returns {pairs.dtype} of shape {pairs.shape} for example "
                f"{example.id}; it must return a boolean matrix of shape ({n}, {n}): a row and a column for each token, "
                "special tokens included."
            )
        by_record[example.record] = pairs
    return by_record


def pattern_share(maps: Maps, pairs: Bools, causal: bool) -> Floats:
    """[layer, head] mean share of attention that query tokens give to the keys that a pattern [n, n] pairs them with.

    Query tokens without such a key are ignored, and in a causal model pairs with later keys. NaN if no query token has a key.
    """
    visible = np.tril(pairs) if causal else pairs
    queries = visible.any(axis=1)
    if not queries.any():
        return np.full(maps.shape[:2], np.nan)
    shares = np.einsum("lhqk,qk->lhq", maps[:, :, queries].astype(np.float64), visible[queries].astype(np.float64))
    return np.asarray(shares.mean(axis=-1))


# --- copying by the weights -------------------------------------------------------------------------------------------


def copying_scores(value: torch.Tensor, output: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
    """[head] sum of the real parts of the eigenvalues of W_U W_O W_V W_E over the sum of their absolute values.

    1 if all eigenvalues are positive: attending to a token makes the same token more likely (copying). -1 if all are
    negative, and about 0 for weights without a preference; NaN if all are 0. The nonzero eigenvalues of this [token, token]
    matrix are those of W_V (W_E W_U) W_O [size, size]. Biases and layer norms are left out, as in the source (Elhage et al.
    2021, A Mathematical Framework for Transformer Circuits, section "Detecting copying behavior").

    value: [head, size, hidden] W_V; output: [head, hidden, size] W_O; product: [hidden, hidden] W_E W_U, float32.
    """
    eigenvalues = torch.linalg.eigvals((value @ product @ output).double())
    return eigenvalues.real.sum(-1) / eigenvalues.abs().sum(-1)


# --- on repeated random tokens ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Repeated:
    """A block of random tokens and its repetition: the input, the position of the first block, from 0, and its length."""

    example: Example
    start: int
    length: int


def ordinary_pieces(vocabulary: Mapping[str, int], special: frozenset[int]) -> list[int]:
    """Ids of ordinary tokens: neither special nor unused."""
    return sorted(number for piece, number in vocabulary.items() if number not in special and not _UNUSED.match(piece))


def repeated_sequences(
    pieces: Sequence[int], before: Sequence[int], after: Sequence[int], max_tokens: int, count: int, seed: int
) -> list[Repeated]:
    """Sequences with a repeated block of distinct random tokens, of `SHORTEST` to `LONGEST` tokens, or as many as fit.

    pieces: ids to draw from; before, after: ids of the special tokens at the start and end of a text.
    """
    longest = min(LONGEST, (max_tokens - len(before) - len(after)) // 2)
    if longest < SHORTEST:
        raise AtlasError(
            f"max_tokens: a block of {SHORTEST} word pieces does not fit twice into the model's longest input, "
            f"{max_tokens} word pieces; use another model."
        )
    if len(pieces) < LONGEST:
        raise AtlasError(
            f"tokenizer.json: the vocabulary has {len(pieces)} ordinary word pieces, but a block needs {LONGEST}; "
            "use another model."
        )
    generator = np.random.default_rng(seed)
    sequences = []
    for number in range(count):
        length = int(generator.integers(SHORTEST, longest + 1))
        block = [int(piece) for piece in generator.choice(np.asarray(pieces), length, replace=False)]
        ids = (*before, *block, *block, *after)
        word = (*[SPECIAL] * len(before), *range(2 * length), *[SPECIAL] * len(after))
        tokens = tuple(str(piece) for piece in ids)
        words = tokens[len(before) : len(before) + 2 * length]
        example = Example(number, f"random {number}", ids, (0,) * len(ids), tokens, word, words)
        sequences.append(Repeated(example, len(before), length))
    return sequences


def repetition_measures(maps: Maps, sequence: Repeated, causal: bool) -> dict[str, Floats]:
    """Measure -> [layer, head] mean attention weight from tokens of the blocks to one position.

    `previous_token`, `next_token`: the token one position before or after, within the blocks. `duplicate_token`: the other
    occurrence of the same token. `induction`: the token after the other occurrence.

    A causal model is measured on its second block only, where it has seen the other occurrence, and without `next_token`, which
    is 0 by construction.
    """
    m = sequence.length
    first = np.arange(m) + sequence.start
    second = first + m
    blocks = np.concatenate([first, second])
    # Pairs with the key in the other block; encoders attend in both directions.
    queries = second if causal else blocks
    occurrences = first if causal else np.concatenate([second, first])

    def share(query: npt.NDArray[np.intp], key: npt.NDArray[np.intp]) -> Floats:
        inside = (key >= blocks[0]) & (key <= blocks[-1])
        return np.asarray(maps[..., query[inside], key[inside]].mean(axis=-1, dtype=np.float64))

    measures = {
        "previous_token": share(blocks, blocks - 1),
        "duplicate_token": share(queries, occurrences),
        "induction": share(queries, occurrences + 1),
    }
    return measures if causal else measures | {"next_token": share(blocks, blocks + 1)}
