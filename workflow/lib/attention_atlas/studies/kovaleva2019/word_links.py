"""Section 4.5: pairs of tokens of a verb and its subject, and of a noun and a pronoun, and their attention weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.studies.kovaleva2019.names import LINKS, NOUN_PRON, PRON_NOUN, SUBJ_VERB, VERB_LINKS, VERB_SUBJ
from attention_atlas.studies.kovaleva2019.random_pairs import Pair, other_pairs
from attention_atlas.studies.kovaleva2019.word_analysis import Analysis, text_of_word
from attention_atlas.studies.kovaleva2019.word_features import CORRECTED, MODES, PRONOUNS

_REVERSED = {VERB_SUBJ: SUBJ_VERB, PRON_NOUN: NOUN_PRON}
DRAWS = 20
"""Number of random sets of pairs of the control."""


def word_links(example: Example, analysis: Analysis, link: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Words of the query and of the key of each link."""
    if link in _REVERSED:
        return [(key, query) for query, key in word_links(example, analysis, _REVERSED[link])]
    if link == SUBJ_VERB:
        subjects = [token for token in analysis if token.relation == "nsubj" and token.head is not None]
        heads = [analysis[token.head] for token in subjects if token.head is not None]
        return [(s.words, v.words) for s, v in zip(subjects, heads, strict=True) if v.tag.startswith("VB")]
    text = text_of_word(example)
    nouns, pronouns = ([t.words for t in analysis if t.words and test(t.tag)] for test in (_is_noun, _is_pronoun))
    return [(noun, pronoun) for noun, pronoun in product(nouns, pronouns) if text[noun[0]] == text[pronoun[0]]]


def piece_pairs(example: Example, analysis: Analysis, link: str, mode: str) -> list[Pair]:
    """Pairs of tokens (query, key) of all links of a kind.

    Args:
        example: the example.
        analysis: its words.
        link: of `LINKS`.
        mode: corrected: each token of the one word with each of the other. as_published: the tokens of all queries and of all
            keys of the example are paired one by one, the rest dropped; a token is the first one with its spelling. There is no
            published code for nouns and pronouns, so they have no such pairs.
    """
    links = word_links(example, analysis, link)
    pieces: dict[int, list[int]] = {}
    for place, word in enumerate(example.word):
        pieces.setdefault(word, []).append(place)
    if not links:
        return []
    sides = [[[place for word in words for place in pieces[word]] for words in side] for side in zip(*links, strict=True)]
    if mode == CORRECTED:
        return [pair for query, key in zip(*sides, strict=True) for pair in product(query, key)]
    if link not in VERB_LINKS:
        return []
    queries, keys = ([example.tokens.index(example.tokens[place]) for part in side for place in part] for side in sides)
    return list(zip(queries, keys, strict=False))


@dataclass(frozen=True)
class LinkPlan:
    """Pairs of the links of a batch, flat: for each pair its example, query, key, group, and the queries of its control.

    Attributes:
        example, query, key, group: [pair].
        drawn: [pair, draw] queries of the control, at the distance of the pair.
        groups: group -> its place in the arrays: mode, row of the batch, link.
        controlled: [group] whether it has a control.
    """

    example: torch.Tensor
    query: torch.Tensor
    key: torch.Tensor
    group: torch.Tensor
    drawn: torch.Tensor
    groups: Sequence[tuple[int, int, int]]
    controlled: torch.Tensor

    def largest(self, maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[group, head] the largest weight over the pairs of each group, and its control, NaN without one.

        Args:
            maps: [example, head, n, n].
        """
        weights = maps[self.example, :, self.query, self.key]
        offset = (self.key - self.query)[:, None]
        random = maps[self.example[:, None], :, self.drawn, self.drawn + offset]
        largest, drawn = (self._largest_of_group(values) for values in (weights, random))
        return largest, torch.where(self.controlled[:, None], drawn.mean(1), torch.nan)

    def _largest_of_group(self, values: torch.Tensor) -> torch.Tensor:
        """[group, ...] of values [pair, ...]."""
        largest = values.new_zeros((len(self.groups), *values.shape[1:]))
        groups = self.group.reshape(-1, *[1] * (values.dim() - 1)).expand_as(values)
        return largest.scatter_reduce_(0, groups, values, "amax", include_self=False)


def link_plan(batch: Sequence[Example], analyses: Mapping[int, Analysis], seed: int, device: torch.device) -> LinkPlan | None:
    """The links of a batch; None where it has none.

    Args:
        batch: examples.
        analyses: record -> its words.
        seed: of the control.
        device: of the plan's tensors.
    """
    rows: list[tuple[int, int, int, int]] = []
    drawn: list[np.ndarray] = []
    groups: list[tuple[int, int, int]] = []
    controlled: list[bool] = []
    for row, example in enumerate(batch):
        words = [word != SPECIAL for word in example.word]
        for (number, mode), (place, link) in product(enumerate(MODES), enumerate(LINKS)):
            pairs = piece_pairs(example, analyses[example.record], link, mode)
            if not pairs:
                continue
            linked = {*pairs, *piece_pairs(example, analyses[example.record], link, CORRECTED)}
            generator = np.random.default_rng([seed, example.record, number, place])
            others = other_pairs(pairs, linked, words, DRAWS, generator)
            rows += [(row, query, key, len(groups)) for query, key in pairs]
            drawn.append(np.tile([[query] for query, _ in pairs], DRAWS) if others is None else others)
            controlled.append(others is not None)
            groups.append((number, row, place))
    if not groups:
        return None
    row_of, query, key, group = torch.tensor(rows, device=device).T
    draws = torch.from_numpy(np.concatenate(drawn)).to(device)
    return LinkPlan(row_of, query, key, group, draws, groups, torch.tensor(controlled, device=device))


def _is_noun(tag: str) -> bool:
    return tag.startswith("NN")


def _is_pronoun(tag: str) -> bool:
    return tag in PRONOUNS
