"""Which word stands for which antecedent: mentions, their candidates, and the rule-based baselines of Table 2 (section 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.agreement import Features, agree, features
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.mentions import Mention, mention_type
from attention_atlas.errors import AtlasError

Bools = npt.NDArray[np.bool_]
NEAREST, HEAD_MATCH, RULE_BASED = "nearest", "head_match", "rule_based"
BASELINES = (NEAREST, HEAD_MATCH, RULE_BASED)
_BEST_RULE = ("dependency", "constituents", "surface", "last")


@dataclass(frozen=True)
class CoreferenceOptions:
    """What the paper leaves open; the defaults are our reading.

    Attributes:
        candidates: words that may be picked: heads of `earlier_mentions`, of all `other_mentions`, or all other `words`.
        scored: mentions `with_antecedent` in the window, or all `not_first` of their chain in the document.
        head_rule: head word of a mention: `auto` (the best that the corpus allows), constituents, dependency, surface or last.
        singletons: whether mentions that are alone in their chain are candidates (OntoNotes annotates none).
        shared_heads: mentions that share a head word with another: `keep` them, or `drop` them from scoring and candidates.
        word_mode: attention from a word: mean of its pieces' rows, first or max.
    """

    candidates: str = "earlier_mentions"
    scored: str = "with_antecedent"
    head_rule: str = "auto"
    singletons: bool = False
    shared_heads: str = "keep"
    word_mode: str = "mean"

    def setting(self, name: str) -> str:
        """One option in words, as tables show it."""
        value = getattr(self, name)
        return ("yes" if value else "no") if isinstance(value, bool) else str(value)


DEFAULT = CoreferenceOptions()
_OTHERS = (
    ("candidates", "other_mentions"),
    ("candidates", "words"),
    ("scored", "not_first"),
    ("head_rule", "constituents"),
    ("head_rule", "dependency"),
    ("head_rule", "surface"),
    ("head_rule", "last"),
    ("singletons", True),
    ("shared_heads", "drop"),
    ("word_mode", "first"),
    ("word_mode", "max"),
)
NOTES = {
    "candidates": "the paper does not say which words a head may pick",
    "scored": "the paper does not say which mentions count",
    "head_rule": "the paper says head word, and not how it is found",
    "singletons": "mentions without a chain are annotated in some corpora only",
    "shared_heads": "nested mentions can share a head word",
    "word_mode": "as in Table 1",
    "windows": "documents cut after their first tokens, or gone through in windows",
}


def options_of(settings: Mapping[str, Any]) -> CoreferenceOptions:
    """The options of a run."""
    return CoreferenceOptions(**settings)


def alternatives(base: CoreferenceOptions) -> list[tuple[str, CoreferenceOptions]]:
    """Every option of `base` moved alone: (name, options); the settings of `base` itself are left out."""
    names = [f.name for f in fields(CoreferenceOptions)]
    moved = [(name, replace(base, **{name: value})) for name, value in _OTHERS if getattr(base, name) != value]
    back = [
        (name, replace(base, **{name: getattr(DEFAULT, name)}))
        for name in names
        if getattr(base, name) != getattr(DEFAULT, name)
    ]
    return list(dict.fromkeys([*back, *moved]))


@dataclass(frozen=True)
class Task:
    """What is asked of one example: k scored mentions over n words.

    Attributes:
        heads: [k] position of each mention's head word.
        types: [k] pronoun, proper or nominal.
        candidates: [k, n] words that may be picked.
        correct: [k, n] head words of the mention's antecedents.
        baselines: baseline -> [k] the word that it picks, -1 for none.
    """

    heads: npt.NDArray[np.intp]
    types: tuple[str, ...]
    candidates: Bools
    correct: Bools
    baselines: Mapping[str, npt.NDArray[np.intp]]

    @property
    def chance(self) -> npt.NDArray[np.float64]:
        """[k] share of correct words among the candidates, which is what picking at random gets."""
        sizes = self.candidates.sum(axis=1)
        return np.divide((self.correct & self.candidates).sum(axis=1), sizes, out=np.zeros(len(sizes)), where=sizes > 0)


def head_rule_for(examples: Iterable[Example], wanted: str) -> str:
    """The rule itself, or for `auto` the best that all mentions of the corpus have.

    Raises:
        AtlasError: the corpus has no heads by the rule that is asked for, or no mentions.
    """
    known: set[str] | None = None
    for example in examples:
        if example.mentions is None:
            raise AtlasError(f"example {example.id} has no mentions: Table 2 needs a corpus of reader conll2012.")
        for mention in example.mentions:
            known = set(mention.heads) if known is None else known & set(mention.heads)
    if not known:
        raise AtlasError("there is no mention in this corpus: every record was dropped, or the limit is too small.")
    rule = next((name for name in _BEST_RULE if name in known), "last") if wanted == "auto" else wanted
    if rule not in known:
        raise AtlasError(f"head_rule: {rule} needs what this corpus does not have; it allows {', '.join(sorted(known))}.")
    return rule


def task_of(example: Example, options: CoreferenceOptions, rule: str) -> Task:
    """Scored mentions, candidates and baselines of one example.

    A mention's antecedents are the mentions of its chain whose head words stand before its own; words stand for all mentions
    that they head. A mention's own head word is never a candidate.

    Args:
        example: words and mentions.
        options: the choices.
        rule: name of the head rule.
    """
    n = len(example.words)
    tags = example.layers.get("xpos", ("_",) * n)
    sentence = example.layers.get("sentence", (0,) * n)
    mentions = [m for m in example.mentions or () if options.singletons or not m.singleton]
    heads = [m.heads[rule] for m in mentions]
    if options.shared_heads == "drop":
        alone = [heads.count(head) == 1 for head in heads]
        mentions = [m for m, keep in zip(mentions, alone, strict=True) if keep]
        heads = [m.heads[rule] for m in mentions]
    at_head: dict[int, list[Mention]] = {}
    for mention, head in zip(mentions, heads, strict=True):
        at_head.setdefault(head, []).append(mention)
    known = {head: [_described(m, head, example.words, tags) for m in own] for head, own in at_head.items()}
    rows = []
    for mention, head in zip(mentions, heads, strict=True):
        right = {h for m, h in zip(mentions, heads, strict=True) if m.cluster == mention.cluster and h < head}
        if not (right if options.scored == "with_antecedent" else not mention.first):
            continue
        if options.candidates == "words":
            allowed = [k for k in range(n) if k != head]
        else:
            allowed = [h for h in at_head if h != head and (h < head or options.candidates == "other_mentions")]
        starts = head == 0 or sentence[head] != sentence[head - 1]
        kind = mention_type(example.words[head], tags[head], starts, example.words[mention.start : mention.stop])
        rows.append((mention, head, kind, sorted(allowed), right))
    candidates, correct = np.zeros((2, len(rows), n), dtype=bool)
    picked = {name: np.full(len(rows), -1) for name in BASELINES}
    for row, (mention, head, _, allowed, right) in enumerate(rows):
        candidates[row, allowed] = True
        correct[row, list(right)] = True
        described = _described(mention, head, example.words, tags)
        for name, word in _baselines(described, head, allowed, known, example.words, tags).items():
            picked[name][row] = word
    return Task(
        np.asarray([head for _, head, *_ in rows], dtype=np.intp),
        tuple(kind for _, _, kind, *_ in rows),
        candidates,
        correct,
        picked,
    )


@dataclass(frozen=True)
class _Described:
    text: str
    head_word: str
    features: Features


def _described(mention: Mention, head: int, words: tuple[str, ...], tags: tuple[str, ...]) -> _Described:
    span = words[mention.start : mention.stop]
    # A head by another rule can lie outside of the span only in a faulty parse; it is described by its own word then.
    inside = head - mention.start if mention.start <= head < mention.stop else len(span) - 1
    return _Described(" ".join(span).lower(), words[head].lower(), features(span, inside, tags[head]))


def _baselines(
    mention: _Described,
    head: int,
    allowed: list[int],
    known: Mapping[int, list[_Described]],
    words: tuple[str, ...],
    tags: tuple[str, ...],
) -> dict[str, int]:
    """The word that each baseline picks for one mention, -1 for none; of several the nearest, of two as near the earlier."""
    by_distance = sorted(allowed, key=lambda k: (abs(k - head), k))
    described = {
        k: known.get(k) or [_Described(words[k].lower(), words[k].lower(), features(words[k : k + 1], 0, tags[k]))]
        for k in by_distance
    }
    sieves = (
        lambda d: d.text == mention.text,
        lambda d: d.head_word == mention.head_word,
        lambda d: agree(d.features, mention.features),
        lambda d: True,
    )
    found = [next((k for k in by_distance if any(sieve(d) for d in described[k])), -1) for sieve in sieves]
    return {
        NEAREST: by_distance[0] if by_distance else -1,
        HEAD_MATCH: found[1],
        RULE_BASED: next((k for k in found if k >= 0), -1),
    }
