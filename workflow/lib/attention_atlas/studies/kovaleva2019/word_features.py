"""Which tokens have a linguistic feature: nouns, verbs, pronouns, subjects, objects, negation, punctuation, special tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.studies.kovaleva2019.word_analysis import Analysis, Token

Bools = npt.NDArray[np.bool_]
SEP, CLS, NOUN, VERB, PRON, SUBJ, OBJ, NEG, PUNCT = "sep", "cls", "noun", "verb", "pron", "subj", "obj", "neg", "punct"
FEATURES = (SEP, CLS, NOUN, VERB, PRON, SUBJ, OBJ, NEG, PUNCT)
TAGGED = (NOUN, VERB, PRON, SUBJ, OBJ)
"""Features that need tags."""
AS_PUBLISHED, CORRECTED = "as_published", "corrected"
MODES = (AS_PUBLISHED, CORRECTED)
"""As the published code finds tokens (by spelling, negation by parts of words), or by the words that they belong to."""
PRONOUNS = ("PRP", "PRP$")
_SUBJECTS = frozenset("nsubj nsubjpass csubj csubjpass agent expl".split())
_OBJECTS = frozenset("dobj iobj dative attr oprd".split())
NEGATIONS = (
    "neither nor not never none don't won't didn't hadn't haven't can't isn't wasn't shouldn't couldn't nothing nowhere".split()
)
"""Kovaleva et al. 2019, footnote 6."""


def feature_masks(example: Example, cls: str | None, sep: str | None, analysis: Analysis | None, mode: str) -> dict[str, Bools]:
    """[n] which tokens have a feature, for every feature; without an analysis, those that need tags are absent.

    Args:
        example: the example.
        cls, sep: vocabulary entries of the special tokens.
        analysis: tags and relations of its words.
        mode: as_published or corrected.
    """
    tokens, word = np.asarray(example.tokens, dtype=object), np.asarray(example.word)
    words: dict[str, list[int]] = {}
    if analysis is not None:
        tests: dict[str, Callable[[Token], bool]] = {
            NOUN: lambda token: token.tag.startswith("NN"),
            VERB: lambda token: token.tag.startswith("VB"),
            PRON: lambda token: token.tag in PRONOUNS,
            SUBJ: lambda token: token.relation in _SUBJECTS,
            OBJ: lambda token: token.relation in _OBJECTS,
        }
        words = {name: [word for token in analysis if test(token) for word in token.words] for name, test in tests.items()}
    words[NEG] = negated(example.words, mode)
    words[PUNCT] = [k for k, form in enumerate(example.words) if not any(c.isalnum() for c in form)]
    masks = {SEP: tokens == sep, CLS: tokens == cls}
    for name, word_positions in words.items():
        mask = np.isin(word, word_positions)
        if mode == AS_PUBLISHED and name != PUNCT:
            # The same spelling elsewhere counts as well, in every word that shares a word piece.
            mask = np.isin(tokens, tokens[mask]) & (word != SPECIAL)
        masks[name] = mask
    return masks


def negated(words: Sequence[str], mode: str) -> list[int]:
    """Positions of negations: by whole words and contractions, or (as published) by words that contain one."""
    positions: set[int] = set()
    # A contraction is split into three words, or into two as in treebanks.
    spans = [(k, k + size) for size in (1, 2, 3) for k in range(len(words) - size + 1)]
    for start, stop in spans:
        text = "".join(words[start:stop])
        contracted = stop - start == 1 or "'" in text or "’" in text
        if mode == AS_PUBLISHED:
            hit = contracted and any(part in text for part in NEGATIONS) and (stop - start == 1 or text in NEGATIONS)
        else:
            plain = text.lower().replace("’", "'")
            hit = contracted and (plain in NEGATIONS or plain == "n't")
        if hit:
            positions |= set(range(start, stop))
    return sorted(positions)
