"""What a head attends to on a parsed corpus: the word pairs with the largest weights, and its attention by kind of pair.

Only pairs of different words of a sentence count; special tokens and the attention to them are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from attention_atlas.attention.cache import CachedExample
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
PAIRS = ["layer", "head", "rank", "record", "query", "key", "weight"]
KINDS = ["layer", "head", "of", "kind", "share", "even_share", "sentences"]
NO_ARC = "no relation"
RELATION, PART_OF_SPEECH = "relation", "part of speech"


@dataclass(frozen=True)
class Attended:
    """What heads attend to.

    Attributes:
        pairs: columns `PAIRS`: the strongest pairs of each head, rank 1 first; query and key are word positions from 1.
        kinds: columns `KINDS`: share of a head's attention between words that goes to pairs of each kind, and the share under
            uniform attention. `of` says what defines the kind: the relation of the two words in the tree, with its
            direction, or the part of speech of the key word.
    """

    pairs: pd.DataFrame
    kinds: pd.DataFrame


def kinds_of_pairs(example: Example) -> dict[str, npt.NDArray[np.str_]]:
    """[m, m] kind of each pair of words, row = query word; keyed by what defines the kind (`of`).

    Raises:
        AtlasError: the sentence has no tree.
    """
    m = len(example.words)
    if "heads" not in example.layers or "relations" not in example.layers:
        raise AtlasError(f"example {example.id} has no dependency tree: the atlas needs a corpus of reader conllu.")
    relations = np.full((m, m), NO_ARC, dtype=object)
    for word, (head, relation) in enumerate(zip(example.layers["heads"], example.layers["relations"], strict=True)):
        if head > 0:
            relations[word, head - 1] = f"{relation}, to its head"
            relations[head - 1, word] = f"{relation}, to the dependent"
    kinds = {RELATION: relations.astype(str)}
    tags = example.layers.get("upos") or example.layers.get("xpos")
    if tags is not None:
        kinds[PART_OF_SPEECH] = np.broadcast_to(np.asarray(tags, dtype=str), (m, m))
    return kinds


def attended(cached: Iterable[CachedExample], examples: Mapping[int, Example], count: int) -> Attended:
    """Strongest pairs and kinds of pairs of every head, over all sentences of at least two words.

    Args:
        cached: attention over a parsed corpus.
        examples: sentence of each record.
        count: strongest pairs to keep for each head.

    Raises:
        AtlasError: a sentence has no tree, or no sentence has two words.
    """
    best: Floats | None = None
    sums: dict[tuple[str, str], Floats] = {}
    even: dict[tuple[str, str], float] = {}
    totals: dict[str, Floats] = {}
    queries, sentences, shape = 0, 0, (0, 0)
    for sentence in cached:
        words = np.flatnonzero(~sentence.special_units)
        m = len(words)
        if m < 2:
            continue
        maps = sentence.word_maps()[:, :, words][..., words].astype(np.float64)
        shape = maps.shape[:2]
        query, key = np.nonzero(~np.eye(m, dtype=bool))
        weights = maps.reshape(-1, m, m)[:, query, key]
        best = _strongest(best, weights, sentence.record, query, key, count)
        for of_words, kinds in kinds_of_pairs(examples[sentence.record]).items():
            names, numbers = np.unique(kinds[query, key], return_inverse=True)
            in_kind = csr_array((np.ones(len(query)), (np.arange(len(query)), numbers)), shape=(len(query), len(names)))
            shares = (in_kind.T @ weights.T).T
            for column, name in enumerate(names.tolist()):
                sums[of_words, name] = sums.get((of_words, name), 0.0) + shares[:, column]
                even[of_words, name] = even.get((of_words, name), 0.0) + float((numbers == column).sum()) / (m - 1)
            totals[of_words] = totals.get(of_words, 0.0) + weights.sum(axis=1)
        queries, sentences = queries + m, sentences + 1
    if best is None:
        raise AtlasError("no sentence of the corpus has two words; name another corpus under `sentences`.")
    place = np.indices(shape).reshape(2, -1) + 1
    kinds_table = pd.DataFrame(
        [
            (
                *place[:, head].tolist(),
                of_words,
                name,
                values[head] / totals[of_words][head],
                even[of_words, name] / queries,
                sentences,
            )
            for (of_words, name), values in sorted(sums.items())
            for head in range(len(values))
        ],
        columns=KINDS,
    )
    return Attended(
        _pair_rows(best, place, count), kinds_table.sort_values(["layer", "head"], kind="stable", ignore_index=True)
    )


def _strongest(
    best: Floats | None, weights: Floats, record: int, query: npt.NDArray[np.intp], key: npt.NDArray[np.intp], count: int
) -> Floats:
    """[head, count, (weight, record, query, key)] the strongest pairs so far; ties go to the earlier pair."""
    order = np.argsort(-weights, axis=1, kind="stable")[:, :count]
    here = np.stack(
        [np.take_along_axis(weights, order, 1), np.full(order.shape, float(record)), query[order] + 1.0, key[order] + 1.0],
        axis=-1,
    )
    if best is None:
        return here
    both = np.concatenate([best, here], axis=1)
    order = np.argsort(-both[..., 0], axis=1, kind="stable")[:, :count]
    return np.asarray(np.take_along_axis(both, order[..., None], 1))


def _pair_rows(best: Floats, place: npt.NDArray[np.intp], count: int) -> pd.DataFrame:
    rows = []
    for head, pairs in enumerate(best[:, :count]):
        for rank, (weight, record, query, key) in enumerate(pairs.tolist(), start=1):
            rows.append((*place[:, head].tolist(), rank, int(record), int(query), int(key), weight))
    return pd.DataFrame(rows, columns=PAIRS)
