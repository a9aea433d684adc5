"""Attention that words receive from every head, its difference between keyphrases and other words; word statistics.

Word-level attention: sum over the word pieces of the attended word, mean over those of the query word. [CLS] and [SEP] are
excluded as rows and as columns, without renormalisation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import Attention
from attention_atlas.corpora.examples import Examples
from attention_atlas.corpora.keyphrases import OUTSIDE, stem
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import DOCUMENTS, mean_rows
from attention_atlas.models.card import Card
from attention_atlas.stats.simultaneous import random_exchanges, simultaneous_interval

Floats = npt.NDArray[np.float64]
REDUCTIONS = ("mean", "max")
"""How the attention that a word receives is pooled over query words."""


def words(attention: Attention, examples: Examples) -> pd.DataFrame:
    """One row for each word: record and name of the document, place of the word, the word, whether it is part of a keyphrase
    (key), then the attention that it receives, a column for each reduction and head: `l3_h1_max`, counted from 1.
    """
    frames = []
    for cached, example in zip(attention, examples, strict=True):
        if cached.record != example.record or "tags" not in example.layers:
            raise AtlasError(f"example {example.id}: attention and tags do not belong together: use a corpus with keyphrases.")
        key = [tag != OUTSIDE for tag in example.layers["tags"]]
        columns = {"record": example.record, "document": example.id, "place": np.arange(len(key)), "word": example.words}
        columns["key"] = key
        word_maps = cached.word_maps()
        for reduction in REDUCTIONS:
            received = received_attention(word_maps, cached.special_units, reduction).astype(np.float32)
            names = _feature_names(received.shape[0], received.shape[1], reduction)
            columns |= dict(zip(names, received.reshape(-1, len(key)), strict=True))
        frames.append(pd.DataFrame(columns))
    if not frames:
        raise AtlasError("there is no document with attention: raise the limit of the corpus, or its max_tokens.")
    return pd.concat(frames, ignore_index=True)


def _feature_names(layers: int, heads: int, reduction: str) -> list[str]:
    return [f"l{layer + 1}_h{head + 1}_{reduction}" for layer, head in np.ndindex(layers, heads)]


def received_attention(maps: npt.ArrayLike, special: npt.ArrayLike, reduction: str = "mean") -> Floats:
    """[layer, head, word] attention that each word receives from the words of its text, itself included.

    maps: [layer, head, m, m] over words and special tokens, row = query; special: [m] which are special tokens.
    """
    is_word = ~np.asarray(special, dtype=np.bool_)
    if not is_word.any():
        raise AtlasError("received attention needs a word: this text has special tokens only.")
    word_maps = np.asarray(maps, dtype=np.float64)[:, :, is_word][:, :, :, is_word]
    return word_maps.mean(axis=2) if reduction == "mean" else word_maps.max(axis=2)


def features_of(words: pd.DataFrame, card: Card, reduction: str) -> Floats:
    """[word, head] attention that the words of a table of `words` receive from the heads of all layers."""
    return words[_feature_names(card.layers, card.heads, reduction)].to_numpy(np.float64)


def relative_rows(words: pd.DataFrame, card: Card, resamples: int, seed: int) -> pd.DataFrame:
    """Relative attention of each head by each reduction, mean over documents.

    adjusted_low, adjusted_high: 95 % intervals that are simultaneous for all heads, by random signs of the documents.
    """
    key, places_by_document = words["key"].to_numpy(), words.groupby("record", sort=False).indices.values()
    tables = []
    for reduction in REDUCTIONS:
        features = features_of(words, card, reduction)
        by_document = np.stack([relative_attention(features[places].T, key[places]) for places in places_by_document])
        rows = mean_rows_of_heads(by_document.reshape(-1, card.layers, card.heads), resamples, seed)
        rows.insert(0, "reduction", reduction)
        tables.append(rows.assign(unit=DOCUMENTS))
    return pd.concat(tables, ignore_index=True)


def relative_attention(received: Floats, key: npt.ArrayLike) -> Floats:
    """[...] mean attention [..., word] that keyphrase words receive minus that of all other words; NaN without both kinds."""
    flags = np.asarray(key, dtype=np.bool_)
    if flags.all() or not flags.any():
        return np.full(received.shape[:-1], np.nan)
    return received[..., flags].mean(axis=-1) - received[..., ~flags].mean(axis=-1)


def mean_rows_of_heads(by_document: Floats, resamples: int, seed: int) -> pd.DataFrame:
    """Means over documents, [document, layer, head], with intervals for each head and simultaneous ones for all heads."""
    rows = mean_rows(by_document, resamples, seed)
    present = by_document[~np.isnan(by_document[:, 0, 0])].reshape(-1, by_document[0].size)
    if not len(present):
        return rows.assign(adjusted_low=np.nan, adjusted_high=np.nan)
    exchanges = np.concatenate(list(random_exchanges(len(present), resamples, seed)))
    null = ((1 - 2 * exchanges) @ present / len(present)).T
    low, high = simultaneous_interval(present.mean(axis=0), null)
    return rows.assign(adjusted_low=low, adjusted_high=high)


def word_statistics(texts: Sequence[Sequence[str]]) -> Floats:
    """[word, 9] position, frequency and form of the words of all texts, one text after the other: a control.

    Position of the word and of the first word with its stem, as shares of the length of the text; logarithms of the frequency
    of its stem in the text and of its inverse document frequency, and TF-IDF; length, letters, capital, stop word.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    stems = [[stem(word.lower()) for word in text] for text in texts]
    texts_with = Counter(name for names in stems for name in set(names))
    rows = []
    for text, names in zip(texts, stems, strict=True):
        counts = Counter(names)
        for place, (word, name) in enumerate(zip(text, names, strict=True)):
            frequency, rarity = np.log(counts[name]), np.log(len(texts) / texts_with[name])
            form = any(letter.isalpha() for letter in word), word[:1].isupper(), word.lower() in ENGLISH_STOP_WORDS
            places = place / len(text), names.index(name) / len(text)
            rows.append([*places, frequency, rarity, (1 + frequency) * rarity, len(word), *form])
    return np.array(rows, dtype=np.float64)
