"""Dependency relations predicted by single heads: Clark et al. (2019), section 4.2, Table 1.

Predictions and gold trees are arrays over all tokens of the corpus: which word each head points at, and the gold head.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, with_attention
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import Units, accuracy_rows, independent_units
from attention_atlas.methods.options import Options
from attention_atlas.stats.held_out import Bools, best_head

Ints = npt.NDArray[np.int16]
DEPENDENT_TO_HEAD, HEAD_TO_DEPENDENT = "dependent_to_head", "head_to_dependent"
DIRECTIONS = (DEPENDENT_TO_HEAD, HEAD_TO_DEPENDENT)
ALL = "all"
# Rows of the paper's Table 1, in its order.
PAPER_RELATIONS = (
    *(ALL, "prep", "pobj", "det", "nn", "nsubj", "amod", "dobj", "advmod", "aux"),
    *("poss", "auxpass", "ccomp", "mark", "prt"),
)


@dataclass(frozen=True)
class Gold:
    """The gold trees of all sentences, one entry per token.

    sentence: from 0; position: from 1 in its sentence; length: words of the sentence; head: 0 = ROOT; before_possessive: the
    next word is 's or s'; documents: [sentence], None if unknown.
    """

    sentence: npt.NDArray[np.intp]
    position: Ints
    length: Ints
    head: Ints
    relation: npt.NDArray[np.str_]
    before_possessive: Bools
    ids: tuple[str, ...]
    documents: tuple[str | None, ...] = ()

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def units(self) -> Units:
        """Units of the tokens: documents, or sentences if the corpus names no documents."""
        units = independent_units(self.documents or [None] * len(self.ids), "sentences")
        return Units(units.of_item[self.sentence], units.count, units.name)

    def tokens_of(self, relation: str, options: Options) -> Bools:
        """[token] which tokens count for a row of the table; for `all` every token or every word, depending on the options."""
        if relation != ALL:
            return self.relation == relation
        if options.all_tokens == "every":
            return np.ones(len(self), dtype=bool)
        return ~np.isin(self.relation, ("punct", "root"))

    def relations(self, min_count: int = 1) -> list[str]:
        """Labels with `min_count` tokens or a row in the paper's table, most frequent first, without root and punct."""
        counts = pd.Series(self.relation).value_counts(sort=False).sort_index().sort_values(ascending=False, kind="stable")
        counts = counts[(counts >= min_count) | counts.index.isin(PAPER_RELATIONS)]
        return [str(label) for label in counts.index if label not in ("root", "punct")]


def gather_gold(examples: Iterable[Example]) -> Gold:
    """The trees of examples; an error if one has no dependency layer, or there is none."""
    sentences = list(examples)
    for example in sentences:
        if not {"heads", "relations"} <= set(example.layers):
            raise AtlasError(f"example {example.id} has no dependency tree: Table 1 needs a corpus of reader conllu.")
    if not sentences:
        raise AtlasError("there is no sentence to score: every record was dropped (see dropped.tsv), or `limit` is too small.")
    lengths = np.asarray([len(example.words) for example in sentences])
    return Gold(
        sentence=np.repeat(np.arange(len(sentences)), lengths),
        position=np.concatenate([np.arange(1, n + 1) for n in lengths]).astype(np.int16),
        length=np.repeat(lengths, lengths).astype(np.int16),
        head=np.asarray([head for example in sentences for head in example.layers["heads"]], dtype=np.int16),
        relation=np.asarray([relation for example in sentences for relation in example.layers["relations"]], dtype=str),
        before_possessive=np.asarray([word in ("'s", "s'") for example in sentences for word in (*example.words[1:], "")]),
        ids=tuple(example.id for example in sentences),
        documents=tuple(example.document for example in sentences),
    )


def predicted_words(maps: npt.NDArray[np.floating], special: Bools) -> Ints:
    """The word that every head picks for every word, [word, direction, layer, head], 1-indexed (section 4.2).

    The diagonal is set to 0 and special tokens are ignored, without renormalising. From dependent to head, word i picks the
    word it attends to most; from head to dependent, the word that attends to i most. Ties go to the first word. Maps are
    [layer, head, m, m] over words and special tokens (`special` [m]).
    """
    words = np.flatnonzero(~special)
    inner = np.array(maps[..., words[:, None], words[None, :]], dtype=np.float32)
    diagonal = np.arange(len(words))
    inner[..., diagonal, diagonal] = 0
    return np.moveaxis(np.stack([inner.argmax(axis=-1), inner.argmax(axis=-2)]), -1, 0).astype(np.int16) + 1


def offset_words(gold: Gold, options: Options) -> Ints:
    """[token, offset] the word that each fixed offset picks: clipped to ROOT and the last word, or -1 for no word."""
    picked = gold.position[:, None] + np.asarray(options.offsets, dtype=np.int16)
    if options.offset_edges == "clip":
        return np.clip(picked, 0, gold.length[:, None])
    return np.where((picked < 1) | (picked > gold.length[:, None]), np.int16(-1), picked)


def is_correct(picked: Ints, gold: Gold, poss_rule: bool) -> Bools:
    """[token, ...] whether each picked position (from 1) is the gold head.

    With `poss_rule`, a token of relation poss before 's or s' is scored by the pick of that word, unless the token itself picks
    the last word of the sentence (published code).
    """
    of_token = (-1, *[1] * (picked.ndim - 1))
    judged = picked
    if poss_rule:
        moved = np.flatnonzero((gold.relation == "poss") & gold.before_possessive)
        judged = picked.copy()
        judged[moved] = np.where(picked[moved] < gold.length[moved].reshape(of_token), picked[moved + 1], picked[moved])
    return judged == gold.head.reshape(of_token)


class Scores(NamedTuple):
    """Correct predictions, [token, direction, layer, head] and [token, offset]; _all: those for the row All."""

    heads: Bools
    offsets: Bools
    heads_all: Bools
    offsets_all: Bools

    def of(self, relation: str) -> tuple[Bools, Bools]:
        """Correct predictions of heads and offsets for a row of the table."""
        return (self.heads_all, self.offsets_all) if relation == ALL else (self.heads, self.offsets)


def score(picked: Ints, gold: Gold, options: Options) -> Scores:
    """Score the picks of heads, [token, direction, layer, head], and of the offsets, under `options`."""
    both = picked, offset_words(gold, options)
    right = [is_correct(places, gold, options.poss_rule) for places in both]
    if options.poss_in_all or not options.poss_rule:
        return Scores(*right, *right)
    return Scores(*right, *(is_correct(places, gold, False) for places in both))


def predict(
    examples: Sequence[Example], cached: Iterable[CachedExample], modes: Sequence[str], sep: str | None
) -> tuple[dict[str, Ints], npt.NDArray[np.float32]]:
    """Read the cache once: word mode -> picks [token, direction, layer, head], and attention to all [SEP] [token, layer, head].

    Word modes that the cache does not support are skipped.
    """
    picked: dict[str, list[Ints]] = {mode: [] for mode in modes}
    to_sep: list[npt.NDArray[np.float32]] = []
    for _, maps in with_attention(examples, cached):
        special = maps.special_units
        for mode in modes if maps.level == "tokens" else ("mean",):
            by_word = maps.word_maps(mode)
            picked[mode].append(predicted_words(by_word, special))
            if mode == "mean":
                is_sep = np.asarray([name == sep for name in maps.words]) & special
                to_sep.append(np.moveaxis(by_word[..., ~special, :][..., is_sep].sum(axis=-1), -1, 0))
    return {mode: np.concatenate(parts) for mode, parts in picked.items() if parts}, np.concatenate(to_sep)


def heads_frame(scores: Scores, gold: Gold, options: Options) -> pd.DataFrame:
    """Accuracy of every head in both directions on every relation, including All, root and punct."""
    labels = [ALL, *gold.relations(), *(label for label in ("punct", "root") if (gold.relation == label).any())]
    by_relation = {label: accuracy_rows(scores.of(label)[0][gold.tokens_of(label, options)], DIRECTIONS) for label in labels}
    return pd.concat(by_relation, names=["relation"]).reset_index("relation").reset_index(drop=True)


def best_heads(scores: Scores, gold: Gold, options: Options, min_count: int) -> pd.DataFrame:
    """The best head and the best fixed offset of All, and of each relation that `gold.relations` lists."""
    rows = []
    for relation in [ALL, *gold.relations(min_count)]:
        right, offset_right = (answers[gold.tokens_of(relation, options)] for answers in scores.of(relation))
        direction, layer, head = best_head(right.sum(axis=0))
        offset = int(offset_right.sum(axis=0).argmax())
        row = {"relation": relation, "n": len(right), "layer": layer + 1, "head": head + 1, "direction": DIRECTIONS[direction]}
        row |= {"accuracy": right[:, direction, layer, head].mean()}
        rows.append(row | {"baseline_offset": options.offsets[offset], "baseline_accuracy": offset_right[:, offset].mean()})
    return pd.DataFrame(rows)
