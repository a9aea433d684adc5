"""Mentions, their candidate antecedents, and the rule-based baselines of Table 2 (section 4.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import BEST_HEAD_RULE, Features, Mention, agree, census_names, features, mention_type
from attention_atlas.errors import AtlasError
from attention_atlas.methods.options import in_words

Bools = npt.NDArray[np.bool_]
NEAREST, HEAD_MATCH, RULE_BASED = "nearest", "head_match", "rule_based"
BASELINES = (NEAREST, HEAD_MATCH, RULE_BASED)


@dataclass(frozen=True)
class CoreferenceOptions:
    """Choices that the paper leaves open, which the schema of the configuration describes; the defaults are our reading."""

    candidates: str = "earlier_mentions"
    scored: str = "with_antecedent"
    head_rule: str = "auto"
    singletons: bool = False
    shared_heads: str = "keep"
    word_mode: str = "mean"

    def option_text(self, name: str) -> str:
        """One option in words, as tables show it."""
        return in_words(getattr(self, name))


DEFAULT = CoreferenceOptions()
_ALTERNATIVES: dict[str, tuple[Any, ...]] = {
    "candidates": ("other_mentions", "words"),
    "scored": ("not_first",),
    "head_rule": ("constituents", "dependency", "surface", "last"),
    "singletons": (True,),
    "shared_heads": ("drop",),
    "word_mode": ("first", "max"),
}
NOTES = {
    "candidates": "the paper does not say which words a head may pick",
    "scored": "the paper does not say which mentions count",
    "head_rule": "the paper does not say how the head word is determined",
    "singletons": "mentions without a chain are annotated in some corpora only",
    "shared_heads": "nested mentions can share a head word",
    "word_mode": "as in Table 1",
}


def alternatives(base: CoreferenceOptions) -> list[tuple[str, CoreferenceOptions]]:
    """Every option of `base` changed alone: (name, options); the values of `base` itself are skipped."""
    others = [(name, value) for name, values in _ALTERNATIVES.items() for value in values]
    changes = [(name, value) for name, value in (*asdict(DEFAULT).items(), *others) if getattr(base, name) != value]
    return [(name, replace(base, **{name: value})) for name, value in changes]


@dataclass(frozen=True)
class Task:
    """Coreference resolution in one example: k scored mentions over n words.

    heads: [k] head words; types: [k] pronoun, proper or nominal; candidates, correct: [k, n] words that may be selected, and
    head words of antecedents; baselines: [k] the word that each selects, -1 for none.
    """

    heads: npt.NDArray[np.intp]
    types: tuple[str, ...]
    candidates: Bools
    correct: Bools
    baselines: Mapping[str, npt.NDArray[np.intp]]

    @property
    def chance(self) -> npt.NDArray[np.float64]:
        """[k] share of correct words among the candidates: the expected accuracy of a random choice."""
        sizes = self.candidates.sum(axis=1)
        return np.divide((self.correct & self.candidates).sum(axis=1), sizes, out=np.zeros(len(sizes)), where=sizes > 0)


def head_rule_for(examples: Iterable[Example], requested: str) -> str:
    """The requested rule, or for `auto` the best that all mentions of the corpus have."""
    rules = []
    for example in examples:
        if example.mentions is None:
            raise AtlasError(f"example {example.id} has no mentions: Table 2 needs a corpus of reader conll2012.")
        rules += [set(mention.heads) for mention in example.mentions]
    if not rules:
        raise AtlasError(
            "there is no mention in this corpus: every record was dropped (see dropped.tsv), or `limit` is too small."
        )
    available = set.intersection(*rules)
    rule = next((name for name in BEST_HEAD_RULE if name in available), "last") if requested == "auto" else requested
    if rule not in available:
        raise AtlasError(f"head_rule: {rule} needs what this corpus does not have; it allows {', '.join(sorted(available))}.")
    return rule


def task_of(example: Example, options: CoreferenceOptions, rule: str) -> Task:
    """Scored mentions, candidates and baselines of one example, with head words by `rule`.

    A mention's antecedents are the mentions of its chain with an earlier head word. A word represents all mentions that it
    heads. The head word of a mention is never its candidate.
    """
    n = len(example.words)
    tags = example.layers.get("xpos", ("_",) * n)
    sentence = example.layers.get("sentence", (0,) * n)
    mentions = [m for m in example.mentions or () if options.singletons or not m.singleton]
    if options.shared_heads == "drop":
        count = Counter(m.heads[rule] for m in mentions)
        mentions = [m for m in mentions if count[m.heads[rule]] == 1]
    descriptions = [_describe(m, m.heads[rule], example, tags[m.heads[rule]]) for m in mentions]
    described: dict[int, list[_Description]] = {}
    for mention, description in zip(mentions, descriptions, strict=True):
        described.setdefault(mention.heads[rule], []).append(description)
    scored_heads, types, candidates, correct = [], [], [], []
    picks: dict[str, list[int]] = {name: [] for name in BASELINES}
    for mention, description in zip(mentions, descriptions, strict=True):
        head = mention.heads[rule]
        antecedent_heads = {m.heads[rule] for m in mentions if m.cluster == mention.cluster and m.heads[rule] < head}
        if not (antecedent_heads if options.scored == "with_antecedent" else not mention.first):
            continue
        allowed = sorted(h for h in described if h != head and (h < head or options.candidates == "other_mentions"))
        starts = head == 0 or sentence[head] != sentence[head - 1]
        scored_heads.append(head)
        types.append(mention_type(example.words[head], tags[head], starts, example.words[mention.start : mention.stop]))
        words = np.arange(n)
        candidates.append(words != head if options.candidates == "words" else np.isin(words, allowed))
        correct.append(np.isin(words, list(antecedent_heads)))
        for name, word in _baselines(description, head, allowed, described).items():
            picks[name].append(word)
    return Task(
        np.asarray(scored_heads, dtype=np.intp),
        tuple(types),
        np.asarray(candidates, dtype=bool).reshape(-1, n),
        np.asarray(correct, dtype=bool).reshape(-1, n),
        {name: np.asarray(words, dtype=np.intp) for name, words in picks.items()},
    )


class _Description(NamedTuple):
    """What the baselines compare of two mentions."""

    text: str
    head_word: str
    features: Features


def _describe(mention: Mention, head: int, example: Example, tag: str) -> _Description:
    span = example.words[mention.start : mention.stop]
    # A head word lies outside of the span only in a faulty parse; the last word of the span stands in for it.
    inside = head - mention.start if mention.start <= head < mention.stop else len(span) - 1
    traits = features(span, inside, tag, mention.entity, census_names())
    return _Description(" ".join(span).lower(), example.words[head].lower(), traits)


def _baselines(
    mention: _Description, head: int, allowed: list[int], described: Mapping[int, list[_Description]]
) -> dict[str, int]:
    """The word that each baseline selects for one mention, -1 for none: the nearest match, ties to the earlier."""
    by_distance = sorted(allowed, key=lambda k: (abs(k - head), k))

    def nearest(matches: Callable[[_Description], bool]) -> int:
        return next((k for k in by_distance if any(matches(d) for d in described[k])), -1)

    sieves = (
        nearest(lambda d: d.text == mention.text),
        nearest(lambda d: d.head_word == mention.head_word),
        nearest(lambda d: agree(d.features, mention.features)),
        nearest(lambda d: True),
    )
    return {NEAREST: sieves[3], HEAD_MATCH: sieves[1], RULE_BASED: next((k for k in sieves if k >= 0), -1)}
