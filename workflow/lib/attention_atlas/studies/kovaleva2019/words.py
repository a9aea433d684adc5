"""Words of an example: tags and relations (gold layers, or spaCy's), the features of section 4.4 and Figure 7, and the links of
section 4.5, with random pairs of tokens at the same distances as their control.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.studies.kovaleva2019.names import LINKS, VERB_LINKS, missing_tagger

if TYPE_CHECKING:
    import torch

Bools = npt.NDArray[np.bool_]
Pair = tuple[int, int]
"""Query and key."""
DRAWS = 20
"""Number of random sets of pairs of the control."""
_REVERSED = {"verb_subj": "subj_verb", "pron_noun": "noun_pron"}
TAGGED = ("noun", "verb", "pron", "subj", "obj")
"""Features that need tags."""
FEATURES = ("sep", "cls", *TAGGED, "neg", "punct")
MODES = ("as_published", "corrected")
"""As the published code finds tokens (by spelling, negation by parts of words), or by the words that they belong to."""
PRONOUNS = ("PRP", "PRP$")
_SUBJECTS = frozenset("nsubj nsubjpass csubj csubjpass agent expl".split())
_OBJECTS = frozenset("dobj iobj dative attr oprd".split())
NEGATIONS = (
    "neither nor not never none don't won't didn't hadn't haven't can't isn't wasn't shouldn't couldn't nothing nowhere".split()
)
"""Kovaleva et al. 2019, footnote 6."""


class Token(NamedTuple):
    """A token: the positions of the example's words that belong to it (none where they belong to another token), its Penn tag,
    the relation to its head, and the place of its head among the tokens (None for a root, or where the head is unknown).
    """

    words: tuple[int, ...]
    tag: str
    relation: str
    head: int | None = None


Analysis = tuple[Token, ...]
Analyser = Callable[[Example], Analysis]


def gold_analysis(example: Example) -> Analysis | None:
    """The gold layers of an example, one token for each word; None where it has no tags or no relations."""
    if not {"xpos", "relations"} <= example.layers.keys():
        return None
    heads = example.layers.get("heads", (0,) * len(example.words))
    return tuple(
        Token((k,), tag, relation, head - 1 if head > 0 else None)
        for k, (tag, relation, head) in enumerate(zip(example.layers["xpos"], example.layers["relations"], heads, strict=True))
    )


def text_of_word(example: Example) -> tuple[int, ...]:
    """For each word the number of its text: special tokens separate the two texts of a pair."""
    numbers = [0] * len(example.words)
    text, previous = 0, SPECIAL
    for word in example.word:
        if word == SPECIAL:
            text += previous != SPECIAL
        else:
            numbers[word] = text
        previous = word
    return tuple(numbers)


def word_spans(example: Example) -> list[tuple[int, int, int]]:
    """For each word its text, and the start and end of its characters in it."""
    spans, cursors = [], [0] * len(example.texts)
    for form, text in zip(example.words, text_of_word(example), strict=True):
        start = example.texts[text].index(form, cursors[text])
        cursors[text] = start + len(form)
        spans.append((text, start, cursors[text]))
    return spans


def aligned(example: Example, documents: Sequence[Sequence[Any]]) -> Analysis:
    """Tokens of spaCy on each text of an example, each with the words most of whose characters lie in it."""
    starts = np.cumsum([0, *map(len, documents)]).tolist()
    words: list[list[int]] = [[] for _ in range(starts[-1])]
    for word, (text, start, stop) in enumerate(word_spans(example)):
        shared = [min(stop, t.idx + len(t.text)) - max(start, t.idx) for t in documents[text]]
        if shared and max(shared) > 0:
            words[starts[text] + int(np.argmax(shared))].append(word)
    tokens = []
    for first, document in zip(starts, documents, strict=False):
        for token in document:
            head = None if token.head.i == token.i else first + token.head.i
            tokens.append(Token(tuple(words[first + token.i]), token.tag_, token.dep_, head))
    return tuple(tokens)


def spacy_analyser(name: str) -> tuple[Analyser | None, str]:
    """spaCy on the running texts of an example; None, with the reason, where spaCy or the model is not installed."""
    reason = missing_tagger(name)
    if reason:
        return None, reason
    import spacy

    pipeline = spacy.load(name)
    return lambda example: aligned(example, [pipeline(text) for text in example.texts]), ""


def feature_masks(example: Example, cls: str | None, sep: str | None, analysis: Analysis | None, mode: str) -> dict[str, Bools]:
    """[n] which tokens have a feature, for every feature; without an analysis, those that need tags are absent."""
    tokens, word = np.asarray(example.tokens, dtype=object), np.asarray(example.word)
    words: dict[str, list[int]] = {}
    if analysis is not None:
        tests: dict[str, Callable[[Token], bool]] = {
            "noun": lambda token: token.tag.startswith("NN"),
            "verb": lambda token: token.tag.startswith("VB"),
            "pron": lambda token: token.tag in PRONOUNS,
            "subj": lambda token: token.relation in _SUBJECTS,
            "obj": lambda token: token.relation in _OBJECTS,
        }
        words = {name: [word for token in analysis if test(token) for word in token.words] for name, test in tests.items()}
    words["neg"] = negated(example.words, mode)
    words["punct"] = [k for k, form in enumerate(example.words) if not any(c.isalnum() for c in form)]
    masks = {"sep": tokens == sep, "cls": tokens == cls}
    for name, word_positions in words.items():
        mask = np.isin(word, word_positions)
        if mode == "as_published" and name != "punct":
            # The same spelling elsewhere counts as well, in every word that shares a word piece.
            mask = np.isin(tokens, tokens[mask]) & (word != SPECIAL)
        masks[name] = mask
    return masks


def negated(words: Sequence[str], mode: str) -> list[int]:
    """Positions of negations: by whole words and contractions, or (as published) by words that contain one."""
    positions: set[int] = set()
    # A contraction is split into three words, or into two as in treebanks.
    for start, size in product(range(len(words)), (1, 2, 3)):
        text = "".join(words[start : start + size])
        if start + size > len(words) or (size > 1 and not {"'", "’"} & {*text}):
            continue
        plain = text.lower().replace("’", "'")
        if mode == "corrected":
            hit = plain in NEGATIONS or plain == "n't"
        else:
            hit = text in NEGATIONS or (size == 1 and any(part in text for part in NEGATIONS))
        if hit:
            positions |= set(range(start, start + size))
    return sorted(positions)


def word_links(example: Example, analysis: Analysis, link: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Words of the query and of the key of each link."""
    if link in _REVERSED:
        return [(key, query) for query, key in word_links(example, analysis, _REVERSED[link])]
    if link == "subj_verb":
        subjects = [token for token in analysis if token.relation == "nsubj" and token.head is not None]
        heads = [analysis[token.head] for token in subjects if token.head is not None]
        return [(s.words, v.words) for s, v in zip(subjects, heads, strict=True) if v.tag.startswith("VB")]
    text = text_of_word(example)
    nouns = [token.words for token in analysis if token.words and token.tag.startswith("NN")]
    pronouns = [token.words for token in analysis if token.words and token.tag in PRONOUNS]
    return [(noun, pronoun) for noun, pronoun in product(nouns, pronouns) if text[noun[0]] == text[pronoun[0]]]


def piece_pairs(example: Example, analysis: Analysis, link: str, mode: str) -> list[Pair]:
    """Pairs of tokens (query, key) of all links of a kind (one of `LINKS`).

    corrected: each token of the one word with each of the other. as_published: the tokens of all queries and keys are paired
    one by one, the rest dropped; a token is the first one with its spelling. Nouns and pronouns have no published code.
    """
    pieces: dict[int, list[int]] = {}
    for place, word in enumerate(example.word):
        pieces.setdefault(word, []).append(place)
    links = [
        [[place for word in words for place in pieces[word]] for words in pair] for pair in word_links(example, analysis, link)
    ]
    if mode == "corrected":
        return [pair for query, key in links for pair in product(query, key)]
    if link not in VERB_LINKS:
        return []
    first = example.tokens.index
    queries = [first(example.tokens[place]) for query, _ in links for place in query]
    keys = [first(example.tokens[place]) for _, key in links for place in key]
    return list(zip(queries, keys, strict=False))


@dataclass(frozen=True)
class LinkPlan:
    """Pairs of the links of a batch, flat; a group is a mode, a row of the batch and a link. control: [pair, draw] queries at
    the distance of the pair.
    """

    example: torch.Tensor
    query: torch.Tensor
    key: torch.Tensor
    group: torch.Tensor
    control: torch.Tensor
    groups: Sequence[tuple[int, int, int]]
    controlled: torch.Tensor

    def largest(self, maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[group, head] the largest weight of maps [example, head, n, n] over each group's pairs, and its control or NaN."""
        weights = maps[self.example, :, self.query, self.key]
        offset = (self.key - self.query)[:, None]
        random = maps[self.example[:, None], :, self.control, self.control + offset]
        largest, drawn = (self._largest_of_group(values) for values in (weights, random))
        return largest, drawn.mean(1).masked_fill(~self.controlled[:, None], float("nan"))

    def _largest_of_group(self, values: torch.Tensor) -> torch.Tensor:
        """[group, ...] of values [pair, ...]."""
        largest = values.new_zeros((len(self.groups), *values.shape[1:]))
        groups = self.group.reshape(-1, *[1] * (values.dim() - 1)).expand_as(values)
        return largest.scatter_reduce_(0, groups, values, "amax", include_self=False)


def link_plan(batch: Sequence[Example], analyses: Mapping[int, Analysis], seed: int, device: torch.device) -> LinkPlan | None:
    """The links of a batch; None where it has none."""
    import torch

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
            linked = {*pairs, *piece_pairs(example, analyses[example.record], link, "corrected")}
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


def other_pairs(
    pairs: Sequence[Pair], linked: Collection[Pair], words: Sequence[bool], draws: int, generator: np.random.Generator
) -> npt.NDArray[np.int64] | None:
    """[pair, draw] queries of random pairs of tokens that are not special, at the distances of `pairs`, none of them linked.

    None where a distance has no other pair.
    """
    allowed = np.flatnonzero(words).tolist()
    inside = set(allowed)
    queries = {
        offset: [k for k in allowed if k + offset in inside and (k, k + offset) not in linked]
        for offset in {key - query for query, key in pairs}
    }
    if not all(queries.values()):
        return None
    return np.stack([generator.choice(queries[key - query], draws) for query, key in pairs])
