"""What needs only a model's attention on the atlas's sentences, the same for every model that a run compares.

Measures of heads, and what a head attends to: word pairs with the largest weights and over the range of its weights, and its
attention by kind of pair. Of these, only pairs of different words of a sentence count; special tokens are ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from attention_atlas.attention.cache import Attention, CachedExample, RepeatedAttention
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.dependency_scoring import gather_gold, predict, score
from attention_atlas.methods.head_relations import head_relations
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.methods.head_types import DEFAULT, mean_features, types_of
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.methods.surface import surface_frame
from attention_atlas.models.card import Card
from attention_atlas.stats.held_out import Resampling

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
NO_ARC = "no relation"
RELATION, PART_OF_SPEECH = "relation", "part of speech"
COLUMNS_OF_KINDS = {"relation": RELATION, "part_of_speech": PART_OF_SPEECH}
"""Column of the table of pairs -> what defines the kind in it."""
STRONGEST, DECILES = "strongest", "deciles"
ATTENDED_PAIRS = ["layer", "head", "selection", "rank", "record", "query", "key", "weight", *COLUMNS_OF_KINDS, "sentence"]
"""Columns of the table of pairs: the kinds of a pair as in the table of kinds, empty if the corpus has none; words of a
sentence are separated by spaces and contain none."""
_SAMPLED, _TENTHS = 2000, 10
"""Pairs of the random sample whose deciles are shown."""
KINDS = ["layer", "head", "of", "kind", "share", "even_share", "sentences"]


def of_model(
    attention: RepeatedAttention, examples: Examples, card: Card, resamples: int, seed: int, strongest_pairs: int
) -> dict[str, pd.DataFrame]:
    """Measure every head of a model on the sentences of a treebank (over word pieces), with the options as published.

    `attended`, and tables in the form of those of the studies: surface, head_relations, types (without the features of heads).
    """
    gold = gather_gold(examples)

    def cached(label: str) -> Iterator[CachedExample]:
        return progress(attention, total=len(examples), label=label)

    # Runs first, since it rejects a cache over words.
    features = mean_features(cached("distances"), card.cls, card.sep, [DEFAULT])
    surface = surface_frame(cached("surface"), card, AS_PUBLISHED, resamples, seed, items="sentences")
    picked, _ = predict(examples, cached("relations"), (AS_PUBLISHED.word_mode,), card.sep)
    scores = score(picked[AS_PUBLISHED.word_mode], gold, AS_PUBLISHED)
    return {
        "surface": surface,
        # The relation of a head is chosen on one half of the documents: no folds.
        "head_relations": head_relations(scores, gold, AS_PUBLISHED, Resampling(2, resamples, seed)),
        "types": type_rows(features[0].mean(axis=0), len(features[0]), seed),
        **attended(iter(attention), examples, strongest_pairs, seed),
    }


def type_rows(features: Floats, examples: int, seed: int) -> pd.DataFrame:
    """layer, head, type of heads by their mean distance features [layer, head, 21], and n; no rows without types."""
    try:
        types = types_of(features.reshape(-1, features.shape[-1]), seed).names
    except AtlasError as error:
        _log.warning("no types of heads: %s", error)
        return pd.DataFrame(columns=["layer", "head", "type", "n"])
    return head_rows(np.asarray(types, dtype=object).reshape(features.shape[:2]), "type").assign(n=examples)


def attended(attention: Attention, examples: Examples, strongest_pairs: int, seed: int) -> dict[str, pd.DataFrame]:
    """What heads attend to, over all sentences of at least two words.

    pairs (`ATTENDED_PAIRS`): of each head, largest weight first, the strongest pairs, and the middle pair of each tenth by
    weight of a random sample of pairs; query and key are word positions from 1. kinds (`KINDS`): share of a head's attention
    between words that goes to pairs of each kind, and the share under uniform attention; `of`: by the relation of the two words
    in the tree, with its direction, or the part of speech of the key word.
    """
    by_record = {example.record: example for example in examples}
    total = sum(len(example.words) * (len(example.words) - 1) for example in examples)
    sampled = np.random.default_rng(seed).choice(total, min(total, _SAMPLED), replace=False)
    best, sample, pairs = np.empty((0, 0, 4)), list[Floats](), 0
    sums: dict[tuple[str, str], Floats] = {}
    even: dict[tuple[str, str], float] = {}
    totals: dict[str, Floats] = {}
    queries, sentences, shape = 0, 0, (0, 0)
    for sentence in progress(attention, total=len(by_record), label="attended pairs"):
        words = np.flatnonzero(~sentence.special_units)
        m = len(words)
        if m < 2:
            continue
        maps = sentence.word_maps()[:, :, words][..., words].astype(np.float64)
        shape = maps.shape[:2]
        query, key = np.nonzero(~np.eye(m, dtype=bool))
        weights = maps.reshape(-1, m, m)[:, query, key]
        place = np.column_stack([np.full(len(query), sentence.record), query + 1, key + 1])
        here = np.concatenate([weights[..., None], np.broadcast_to(place, (*weights.shape, 3))], axis=-1)
        best = _largest(np.concatenate([best, here], axis=1) if sentences else here, strongest_pairs)
        sample.append(here[:, sampled[(sampled >= pairs) & (sampled < pairs + len(query))] - pairs])
        pairs += len(query)
        for of, kinds in kinds_of_pairs(by_record[sentence.record]).items():
            names, numbers = np.unique(kinds[query, key], return_inverse=True)
            in_kind = csr_array((np.ones(len(query)), (np.arange(len(query)), numbers)), shape=(len(query), len(names)))
            shares = (in_kind.T @ weights.T).T
            for column, name in enumerate(names.tolist()):
                sums[of, name] = sums.get((of, name), 0.0) + shares[:, column]
                even[of, name] = even.get((of, name), 0.0) + float((numbers == column).sum()) / (m - 1)
            totals[of] = totals.get(of, 0.0) + weights.sum(axis=1)
        queries, sentences = queries + m, sentences + 1
    if not sentences:
        raise AtlasError("no sentence of the corpus has two words; name another corpus under `sentences`.")
    by_kind = [
        head_rows((values / totals[of]).reshape(shape), "share").assign(of=of, kind=name, even_share=even[of, name] / queries)
        for (of, name), values in sorted(sums.items())
    ]
    kinds_table = pd.concat(by_kind).assign(sentences=sentences).sort_values(["layer", "head"], kind="stable")
    drawn = _largest(np.concatenate(sample, axis=1), _SAMPLED)
    selections = {STRONGEST: best, DECILES: drawn[:, ((np.arange(_TENTHS) + 0.5) * drawn.shape[1] / _TENTHS).astype(int)]}
    return {"pairs": _pair_rows(selections, shape, by_record), "kinds": kinds_table[KINDS].reset_index(drop=True)}


def kinds_of_pairs(example: Example) -> dict[str, npt.NDArray[np.str_]]:
    """[m, m] kind of each pair of words, row = query word; keyed by what defines the kind (`of`)."""
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


def _largest(pairs: Floats, count: int) -> Floats:
    """[head, count, (weight, record, query, key)] the pairs with the largest weights; ties go to the earlier pair."""
    order = np.argsort(-pairs[..., 0], axis=1, kind="stable")[:, :count]
    return np.asarray(np.take_along_axis(pairs, order[..., None], 1))


def _pair_rows(selections: dict[str, Floats], shape: tuple[int, ...], examples: dict[int, Example]) -> pd.DataFrame:
    frames = []
    for selection, pairs in selections.items():
        layer, head, rank = np.indices((*shape, pairs.shape[1])).reshape(3, -1) + 1
        frames.append(pd.DataFrame(pairs.reshape(-1, 4), columns=["weight", "record", "query", "key"]))
        frames[-1] = frames[-1].assign(layer=layer, head=head, selection=selection, rank=rank)
    table = pd.concat(frames, ignore_index=True).astype(dict.fromkeys(("record", "query", "key"), int))
    texts = {name: np.full(len(table), "", dtype=object) for name in (*COLUMNS_OF_KINDS, "sentence")}
    query, key = (table[name].to_numpy() - 1 for name in ("query", "key"))
    for record, rows in table.groupby("record").indices.items():
        kinds, words = kinds_of_pairs(examples[record]), examples[record].words
        for column, of in COLUMNS_OF_KINDS.items():
            texts[column][rows] = kinds[of][query[rows], key[rows]] if of in kinds else ""
        texts["sentence"][rows] = " ".join("\N{NO-BREAK SPACE}".join(word.split()) or "_" for word in words)
    return table.assign(**texts).sort_values(["layer", "head"], kind="stable", ignore_index=True)[ATTENDED_PAIRS]
