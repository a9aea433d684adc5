"""Attention of all heads over sentences and pairs of sentences: the table of a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import map_rows
from attention_atlas.models.card import read_card
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.loading import load_model

MODEL_VIEW = ["pair", "layer", "head", "query", "key", "query_token", "key_token", "weight", "second"]


def write_views(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer_path: str | Path,
    pairs: Sequence[Sequence[str]],
    out: str | Path,
) -> None:
    """Write the maps of all pairs (`MODEL_VIEW`; pair, layer and head from 1).

    Args:
        model_entry, card_path, tokenizer_path: the model.
        pairs: one sentence or two each.
        out: table to write; second: first token (from 1) of the second sentence, 0 without one.

    Raises:
        AtlasError: the model cannot be loaded, or a pair is too long for it.
    """
    card = read_card(card_path)
    model = load_model(model_entry)  # a few sentences need no GPU
    examples = [_example(number, pair, WordPieces(tokenizer_path), card.max_tokens) for number, pair in enumerate(pairs)]
    maps = attention_maps(model, examples, card.pad or 0)
    frames = [view_rows(pair, example, maps[example.record]) for pair, example in zip(pairs, examples, strict=True)]
    write_table(pd.concat(frames)[MODEL_VIEW], out)


def _example(number: int, texts: Sequence[str], pieces: WordPieces, bound: int) -> Example:
    words = [WORD.findall(text) for text in texts]
    assembled = pieces.assemble([pieces.pieces(part, spaces_in(text, part)) for text, part in zip(texts, words, strict=True)])
    if len(assembled.input_ids) > bound:
        raise AtlasError(
            f"pairs: {texts[0]!r}: {len(assembled.input_ids)} word pieces, but the model takes {bound}: shorten it."
        )
    all_words = tuple(word for sentence in words for word in sentence)
    return Example(
        number, " / ".join(texts), assembled.input_ids, assembled.segment_ids, assembled.tokens, assembled.word, all_words
    )


def view_rows(texts: Sequence[str], example: Example, maps: npt.NDArray[np.float16]) -> pd.DataFrame:
    """The maps of a pair, [layer, head, n, n], as rows."""
    second = 0
    if len(texts) == 2:
        first_words = len(WORD.findall(texts[0]))
        second = 1 + next(k for k, word in enumerate(example.word) if word >= first_words)
    frames = [
        map_rows(example.tokens, maps[layer, head].astype(np.float32)).assign(layer=layer + 1, head=head + 1)
        for layer, head in np.ndindex(maps.shape[:2])
    ]
    return pd.concat(frames).assign(pair=example.record + 1, second=second)
