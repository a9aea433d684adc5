"""Words of an example: tags and relations (gold layers, or spaCy's), the features of section 4.4 and Figure 7, and attention
between linked words (section 4.5) and between frame elements and their target (Figure 3), with random pairs of tokens at the
same distances as the control of both.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import Attention, widened, with_attention
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.marked_text import ELEMENT, TARGET
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import mean_rows
from attention_atlas.studies.kovaleva2019 import VERB_LINKS, missing_tagger
from attention_atlas.studies.kovaleva2019.changes import OPTIONS, margin_columns, option_row

_log = logging.getLogger(__name__)
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]
"""Query and key."""
DRAWS = 20
"""Number of random sets of pairs of the control."""
_REVERSED = {"verb_subj": "subj_verb", "pron_noun": "noun_pron"}
PRONOUNS = ("PRP", "PRP$")
_SUBJECTS = frozenset("nsubj nsubjpass csubj csubjpass agent expl".split())
_OBJECTS = frozenset("dobj iobj dative attr oprd".split())
NEGATIONS = (
    "neither nor not never none don't won't didn't hadn't haven't can't isn't wasn't shouldn't couldn't nothing nowhere".split()
)
"""Kovaleva et al. 2019, footnote 6."""
PLACES = ("first_piece", "words")
"""Positions of tokens: the first token with the same spelling (published code), or the tokens of the annotated words."""
_OPTIONS = {
    "tokens of elements and target paired one by one, or all with all": ("zip", "all"),
    "direction of attention": ("fe_to_target", "target_to_fe", "both"),
    "tokens by spelling, or by word": PLACES,
}
"""Option of Figure 3 -> its choices; the order is that of the parameters of `frame_pairs`."""
FRAME_COLUMNS = (
    "layer head value ci_low ci_high control margin margin_ci_low margin_ci_high margin_all_low margin_all_high n n_margin"
).split()
"""value: mean over the n sentences of the largest weight; control: the same of other pairs of tokens at the same distance, none
of which links an element with the target; margin_all_low, margin_all_high: interval of their difference (margin) that covers
all heads together; n_margin: sentences with such pairs."""


class Token(NamedTuple):
    """The words that belong to a token, its Penn tag, the relation to its head, and the place of the head if known."""

    words: tuple[int, ...]
    tag: str
    relation: str
    head: int | None = None


Analysis = tuple[Token, ...]


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


def analyses_of(examples: Sequence[Example], tagger: str) -> dict[int, Analysis]:
    """Record -> its gold analysis, or all by spaCy on the running texts; empty where neither is there."""
    gold = {example.record: gold_analysis(example) for example in examples}
    analyses = {record: analysis for record, analysis in gold.items() if analysis is not None}
    if len(analyses) == len(examples):
        return analyses
    if reason := missing_tagger(tagger):
        _log.warning("nouns, verbs, pronouns, subjects, objects and links are absent: %s", reason)
        return {}
    import spacy

    pipeline = spacy.load(tagger)
    return {example.record: aligned(example, [pipeline(text) for text in example.texts]) for example in examples}


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
        subjects = [token for token in analysis if token.relation == "nsubj"]
        pairs = [(token, analysis[token.head]) for token in subjects if token.head is not None]
        return [(subject.words, verb.words) for subject, verb in pairs if verb.tag.startswith("VB")]
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


def largest_weights(maps: npt.NDArray[np.float32], pairs: Sequence[Pair]) -> Floats:
    """[layer, head] the largest weight over pairs (query, key) of maps [layer, head, n, n]."""
    rows, columns = zip(*pairs, strict=True)
    return maps[:, :, list(rows), list(columns)].max(axis=-1).astype(np.float64)


def control_weights(
    maps: npt.NDArray[np.float32],
    pairs: Sequence[Pair],
    linked: Collection[Pair],
    example: Example,
    generator: np.random.Generator,
) -> Floats:
    """[layer, head] the mean, over `DRAWS` random sets, of the largest weight of as many pairs of tokens at the same distances,
    neither special nor linked; NaN where a distance has no such pair.
    """
    allowed = [place for place, word in enumerate(example.word) if word != SPECIAL]
    inside = set(allowed)
    queries = {
        offset: [k for k in allowed if k + offset in inside and (k, k + offset) not in linked]
        for offset in {key - query for query, key in pairs}
    }
    if not all(queries.values()):
        return np.full(maps.shape[:2], np.nan)
    drawn = np.stack([generator.choice(queries[key - query], DRAWS) for query, key in pairs])
    offsets = np.asarray([key - query for query, key in pairs])[:, None]
    return maps[:, :, drawn, drawn + offsets].max(axis=2).mean(axis=-1).astype(np.float64)


def frames(
    attention: Attention, examples: Examples, pairing: str, direction: str, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Attention of every head on frame links (`FRAME_COLUMNS`), the effect of each option, and the sentence of Figure 4.

    pairing, direction: of the figure; the options change these and the positions of tokens, one at a time.
    """
    chosen: tuple[str, ...] = (pairing, direction, "first_piece")
    options = [
        (name, chosen[place], choice, (*chosen[:place], choice, *chosen[place + 1 :]))
        for place, (name, choices) in enumerate(_OPTIONS.items())
        for choice in choices
        if choice != chosen[place]
    ]
    pairs = progress(with_attention(examples, attention), label="sentences")
    (scores, *option_scores), controls = variant_scores(pairs, [chosen, *(variant for *_, variant in options)], seed)
    rows = [
        option_row("frames", f"Figure 3: {name}", (first, second), (scores, changed))
        for (name, first, second, _), changed in zip(options, option_scores, strict=True)
    ]
    return {
        "heads": frame_rows(scores, controls, resamples, seed),
        "options": pd.DataFrame(rows).assign(unit="sentences")[OPTIONS],
        "sentence": example_sentence(examples),
    }


def variant_scores(pairs: Iterator[Any], variants: Sequence[tuple[str, ...]], seed: int) -> tuple[list[Floats], Floats]:
    """Scores [sentence, layer, head] of each variant (pairing, direction, places), and the control of the first one."""
    scores: list[list[Floats]] = [[] for _ in variants]
    controls: list[Floats] = []
    for example, cached in pairs:
        maps = widened(cached.maps)
        for number, variant in enumerate(variants):
            scores[number].append(largest_weights(maps, frame_pairs(example, *variant)))
        generator = np.random.default_rng([seed, example.record, 0])
        linked = {pair for places in PLACES for pair in frame_pairs(example, "all", "both", places)}
        controls.append(control_weights(maps, frame_pairs(example, *variants[0]), linked, example, generator))
    if not controls:
        raise AtlasError("there is no sentence with a frame: all were dropped (see dropped.tsv), or `limit` is too small.")
    return [np.stack(sentences) for sentences in scores], np.stack(controls)


def frame_pairs(example: Example, pairing: str, direction: str, places: str) -> list[Pair]:
    """Pairs of tokens (query, key) between the elements and the target of a sentence.

    pairing: zip pairs the tokens of all elements with those of the target one by one and drops the rest (published code); all:
    each with each. direction: which of them attends, or both. places: one of `PLACES`.
    """
    elements, targets = (_pieces(example, role, places) for role in (ELEMENT, TARGET))
    pairs = list(zip(elements, targets, strict=False) if pairing == "zip" else product(elements, targets))
    reversed_pairs = [(target, element) for element, target in pairs]
    return {"fe_to_target": pairs, "target_to_fe": reversed_pairs, "both": pairs + reversed_pairs}[direction]


def _pieces(example: Example, role: str, places: str) -> list[int]:
    words = [word for mention in example.mentions or () if mention.role == role for word in range(mention.start, mention.stop)]
    positions = [place for word in words for place, mark in enumerate(example.word) if mark == word]
    return positions if places == "words" else [example.tokens.index(example.tokens[place]) for place in positions]


def frame_rows(scores: Floats, controls: Floats, resamples: int, seed: int) -> pd.DataFrame:
    """The table of heads, `FRAME_COLUMNS`, of scores and controls [sentence, layer, head], NaN without a control."""
    frame = mean_rows(scores, resamples, seed).assign(**margin_columns(scores, controls, resamples, seed))
    margins = mean_rows(scores - controls, resamples, seed)
    ends = margins[["ci_low", "ci_high"]].add_prefix("margin_").reindex(frame.index)
    return frame.join(ends)[FRAME_COLUMNS]


def example_sentence(examples: Sequence[Example]) -> pd.DataFrame:
    """Words of the first sentence of medium length, with the role of each: word, role, frame."""
    middle = float(np.median([len(example.words) for example in examples]))
    example = min(examples, key=lambda e: (abs(len(e.words) - middle), e.record))
    roles = [""] * len(example.words)
    for mention in example.mentions or ():
        roles[mention.start : mention.stop] = [mention.role] * (mention.stop - mention.start)
    frame = next((mention.cluster for mention in example.mentions or ()), "")
    return pd.DataFrame({"word": example.words, "role": roles, "frame": frame, "example": example.id})
