"""Dependency relations predicted by single heads: Clark et al. (2019), section 4.2, Table 1.

Predictions and gold trees are arrays over all tokens of the corpus: which word each head points at, and the gold head.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from attention_atlas.attention.cache import CachedExample, with_attention
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import Units, independent_units
from attention_atlas.methods.options import Options

Ints = npt.NDArray[np.int16]
Bools = npt.NDArray[np.bool_]

DEPENDENT_TO_HEAD, HEAD_TO_DEPENDENT = "dependent_to_head", "head_to_dependent"
DIRECTIONS = (DEPENDENT_TO_HEAD, HEAD_TO_DEPENDENT)
ALL = "all"
# Rows of the paper's Table 1, in its order.
PAPER_RELATIONS = (
    *(ALL, "prep", "pobj", "det", "nn", "nsubj", "amod", "dobj", "advmod", "aux"),
    *("poss", "auxpass", "ccomp", "mark", "prt"),
)
_POSSESSIVE = {"'s", "s'"}
"""Words of the possessive rule, as in the published code (case-sensitive)."""
_NO_WORD = -1


@dataclass(frozen=True)
class Gold:
    """The gold trees of all sentences, one entry per token.

    sentence: from 0; position: from 1 in its sentence; length: words of the sentence; head: 0 = ROOT; before_possessive: the
    next word is 's or s'; ids, documents: [sentence], None if unknown.
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
        """Units of the tokens, for intervals and folds: documents, or sentences if the corpus names no documents."""
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
        labels, counts = np.unique(self.relation, return_counts=True)
        counted = sorted((-int(n), str(label)) for label, n in zip(labels, counts, strict=True))
        shown = [label for n, label in counted if -n >= min_count or label in PAPER_RELATIONS]
        return [label for label in shown if label not in ("root", "punct")]


def gather_gold(examples: Iterable[Example]) -> Gold:
    """The trees of examples; an error if one has no dependency layer, or there is none."""
    sentences = list(examples)
    for example in sentences:
        if "heads" not in example.layers or "relations" not in example.layers:
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
        before_possessive=np.asarray([word in _POSSESSIVE for example in sentences for word in (*example.words[1:], "")]),
        ids=tuple(example.id for example in sentences),
        documents=tuple(example.document for example in sentences),
    )


def predicted_words(maps: npt.NDArray[np.floating], special: Bools) -> Ints:
    """The word that every head picks for every word, [word, direction, layer, head], 1-indexed (section 4.2).

    The diagonal is set to 0 and special tokens are ignored, without renormalising. From dependent to head, word i picks the
    word it attends to most; from head to dependent, the word that attends to i most. Ties go to the first word. Maps are
    [layer, head, m, m] over words and special tokens, of which `special` [m] says which are which.
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
    return np.where((picked < 1) | (picked > gold.length[:, None]), np.int16(_NO_WORD), picked)


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


@dataclass(frozen=True)
class Scores:
    """Correct predictions under one setting of the options, [token, direction, layer, head] and [token, offset]; _all: the same
    for the row All, to which the possessive rule may not apply.
    """

    heads: Bools
    offsets: Bools
    heads_all: Bools
    offsets_all: Bools

    def of(self, relation: str) -> tuple[Bools, Bools]:
        """Correct predictions of heads and offsets for a row of the table."""
        return (self.heads_all, self.offsets_all) if relation == ALL else (self.heads, self.offsets)


def score(picked: Ints, gold: Gold, options: Options) -> Scores:
    """Score the picks of heads, [token, direction, layer, head], and of the offsets, under `options`."""
    offsets = offset_words(gold, options)
    heads_right = is_correct(picked, gold, options.poss_rule)
    offsets_right = is_correct(offsets, gold, options.poss_rule)
    if options.poss_in_all or not options.poss_rule:
        return Scores(heads_right, offsets_right, heads_right, offsets_right)
    return Scores(heads_right, offsets_right, is_correct(picked, gold, False), is_correct(offsets, gold, False))


@dataclass(frozen=True)
class Predictions:
    """Word mode -> picks [token, direction, layer, head], and attention to all [SEP] and to [CLS] [token, layer, head]."""

    picked: dict[str, Ints]
    to_sep: npt.NDArray[np.float32]
    to_cls: npt.NDArray[np.float32]


def predict(
    examples: Sequence[Example], cached: Iterable[CachedExample], modes: Sequence[str], cls: str | None, sep: str | None
) -> Predictions:
    """Read the cache once; word modes that it does not support are skipped; cls, sep: vocabulary entries, None for none."""
    picked: dict[str, list[Ints]] = {mode: [] for mode in modes}
    to_special: dict[str, list[npt.NDArray[np.float32]]] = {"cls": [], "sep": []}
    for _, maps in with_attention(examples, cached):
        special = maps.special_units
        for mode in list(picked):
            if mode != "mean" and maps.level == "words":
                del picked[mode]
                continue
            by_word = maps.word_maps(mode)
            picked[mode].append(predicted_words(by_word, special))
            if mode == "mean":
                for key, token in (("cls", cls), ("sep", sep)):
                    targets = np.asarray([name == token for name in maps.words]) & special
                    mass = by_word[..., ~special, :][..., targets].sum(axis=-1)
                    to_special[key].append(np.moveaxis(mass, -1, 0))
    masses = (np.concatenate(to_special[key]) for key in ("sep", "cls"))
    return Predictions({mode: np.concatenate(parts) for mode, parts in picked.items()}, *masses)
