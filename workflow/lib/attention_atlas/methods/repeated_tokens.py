"""Attention on repeated random tokens: previous, next and duplicate token, and induction.

A block of random tokens is repeated: [CLS] A B C ... A B C ... [SEP]. Only the repetition is predictable. In a block of m
tokens, the token at q in the second half first occurs at q - m. An induction head attends from q to the token after that
occurrence, q - m + 1: the next token if the text repeats itself (Elhage et al. 2021, A Mathematical
Framework for Transformer Circuits, section "Induction heads"; Olsson et al. 2022, In-context Learning and Induction Heads,
prefix matching). In an encoder each half can attend to the other, and the token before the other occurrence is as informative
as the one after it.

The length of the block varies between sequences, so that a head that always attends a fixed number of tokens back reaches the
other occurrence for one length only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
SHORTEST, LONGEST = 8, 24
"""Minimum and maximum number of tokens in a block."""
_UNUSED = re.compile(r"^(\[unused\d+\]|<unused\d+>|<extra_id_\d+>|madeupword\d+)$", re.IGNORECASE)


@dataclass(frozen=True)
class Repeated:
    """A block of random tokens and its repetition.

    Attributes:
        example: the model's input.
        start: position of the first token of the first block, from 0.
        length: tokens in a block.
    """

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

    Args:
        pieces: ids to draw from.
        before, after: ids of the special tokens at the start and end of a text.
        max_tokens: largest number of tokens in a sequence.
        count: number of sequences.
        seed: seed of the draws.

    Raises:
        AtlasError: the vocabulary or the longest input is too small for a block.
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
        word = tuple([-1] * len(before) + list(range(2 * length)) + [-1] * len(after))
        tokens = tuple(str(piece) for piece in ids)
        words = tuple(tokens[len(before) : len(before) + 2 * length])
        example = Example(number, f"random {number}", ids, (0,) * len(ids), tokens, word, words)
        sequences.append(Repeated(example, len(before), length))
    return sequences


def repetition_measures(maps: npt.NDArray[np.floating], sequence: Repeated, causal: bool) -> dict[str, Floats]:
    """Mean attention weight from tokens of the blocks to one position, by measure, [layer, head].

    `previous_token`, `next_token`: the token one position before or after, within the blocks. `duplicate_token`: the other
    occurrence of the same token. `induction`: the token after the other occurrence, `induction_before`: the token before it.

    A causal model is measured on its second block only, where it has seen the other occurrence; `next_token` is 0 by
    construction, and `induction_before` does not help to predict the next token: both are left out.

    Args:
        maps: [layer, head, n, n], row = query token.
        sequence: the sequence of these maps.
        causal: whether a token attends only to itself and earlier tokens.
    """
    m = sequence.length
    first = np.arange(m) + sequence.start
    second = first + m
    # Pairs with the key in the other block; encoders attend in both directions.
    queries = second if causal else np.concatenate([first, second])
    occurrences = first if causal else np.concatenate([second, first])
    blocks = np.arange(sequence.start, sequence.start + 2 * m)

    def share(query: npt.NDArray[np.intp], key: npt.NDArray[np.intp]) -> Floats:
        inside = (key >= blocks[0]) & (key <= blocks[-1])
        return np.asarray(maps[..., query[inside], key[inside]].mean(axis=-1, dtype=np.float64))

    measures = {
        "previous_token": share(blocks, blocks - 1),
        "duplicate_token": share(queries, occurrences),
        "induction": share(queries, occurrences + 1),
    }
    if not causal:
        measures |= {"next_token": share(blocks, blocks + 1), "induction_before": share(queries, occurrences - 1)}
    return measures
