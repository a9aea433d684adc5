"""Windows of coreference documents: stretches of text that are model inputs, with their mentions and head words."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from attention_atlas.corpora.conll2012 import (
    Document,
    conll2012_records,  # noqa: F401 (the reader)
    sentence_parse,
    sentence_starts,
)
from attention_atlas.corpora.conllu import Tree, tree_builders
from attention_atlas.corpora.layers import BEST_HEAD_RULE, Mention, dependency_head, surface_head
from attention_atlas.corpora.records import Dropped, in_record_order
from attention_atlas.corpora.text import last_that_fits
from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from nltk import Tree as Constituents

    from attention_atlas.corpora.examples import Example, ExampleBuilder

_log = logging.getLogger(__name__)
_Tree = TypeVar("_Tree")
_NOUNS = ("NN", "NNS", "NNP", "NNPS", "NX", "POS", "JJR", "NML")
_PHRASES = ("NP", "NML", "NX")
# Head words of constituents, by simplified rules after Collins (1999, appendix A).
# Category -> (side from which children are searched, labels in order of preference); default: the first child on that side.
_HEAD_RULES = {
    "S": ("left", ("VP", "S", "SBAR", "ADJP", "NP")),
    "SINV": ("left", ("VP", "S", "SINV", "ADJP", "NP")),
    "SQ": ("left", ("VBZ", "VBD", "VBP", "VB", "MD", "VP", "SQ")),
    "SBAR": ("left", ("S", "SQ", "SINV", "SBAR", "WHNP", "IN")),
    "VP": ("left", ("VBD", "VBN", "MD", "VBZ", "VB", "VBG", "VBP", "VP", "ADJP", "NN", "NNS", "NP", "TO")),
    "PP": ("right", ("IN", "TO", "VBG", "VBN", "RP", "FW")),
    "ADJP": ("left", ("NNS", "QP", "NN", "$", "ADVP", "JJ", "VBN", "VBG", "ADJP", "JJR", "NP", "JJS")),
    "ADVP": ("right", ("RB", "RBR", "RBS", "FW", "ADVP", "TO", "CD", "JJR", "JJ", "IN", "NP", "JJS", "NN")),
    "QP": ("left", ("$", "IN", "NNS", "NN", "JJ", "CD", "RB", "DT", "QP")),
    "WHNP": ("left", ("WDT", "WP", "WP$", "WHADJP", "WHPP", "WHNP", "NN", "NNS")),
}


def conll2012_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    return islice(_windows(builder), start, stop)


def _windows(builder: ExampleBuilder) -> Iterator[Example | Dropped]:
    """The windows of all documents, in the order of the corpus."""
    entry, documents = builder.entry, iter(builder.all_records())
    room = builder.bound - builder.pieces.single.specials
    # Parse only the trees of the requested documents.
    paired: Iterator[tuple[Document, Any]] = ((document, None) for document in documents)
    if builder.companion is not None:
        paired = trees_of_documents(documents, tree_builders(builder.companion))
    for document, builders in in_record_order(list(paired), entry["order"], entry["seed"]):
        trees = None if builders is None else [build() for build in builders]
        sizes = [len(ids) for ids in builder.pieces.pieces(document.words)]
        mentions = document_mentions(document, trees)
        for number, (first, last) in enumerate(document_windows(document.sentence, sizes, room, entry["windows"]), start=1):
            inside, cut = mentions_between(mentions, first, last)
            if cut:
                where = (builder.raw, document.id, cut, number)
                _log.info("%s: %s: %d mentions cross the edge of window %d and are skipped", *where)
            layers: dict[str, tuple[Any, ...]] = {"sentence": document.sentence[first:last]}
            if any(tag != "_" for tag in document.tags):
                layers["xpos"] = document.tags[first:last]
            name = document.id if entry["windows"] == "first" else f"{document.id}#{number}"
            words = document.words[first:last]
            yield builder.example(name, words, layers=layers, mentions=inside, document=document.id)


def document_windows(sentence: Sequence[int], sizes: Sequence[int], room: int, windows: str) -> list[tuple[int, int]]:
    """Words start .. stop - 1 of each window of a document.

    `sizes`: for each word the number of its word pieces; `windows`: "first" cuts the document after the last word that fits
    (Clark et al. 2019: documents truncated to 128 tokens); "all" continues with further windows; a window ends with a sentence
    if one ends in its second half.
    """
    intervals: list[tuple[int, int]] = []
    start = 0
    while start < len(sizes):
        stop = last_that_fits(sizes, start, room)
        if windows == "first":
            return [(start, max(stop, 1))]
        if stop < len(sizes):
            sentence_ends = [k for k in range(start + (stop - start) // 2 + 1, stop + 1) if sentence[k] != sentence[k - 1]]
            stop = sentence_ends[-1] if sentence_ends else stop
        # A word longer than a window becomes a separate window, which is then dropped as too long.
        stop = max(stop, start + 1)
        intervals.append((start, stop))
        start = stop
    return intervals


def document_mentions(document: Document, trees: Sequence[Tree] | None) -> list[Mention]:
    """All mentions of a document, at positions in the document, with head words by every rule that the source supports."""
    starts = [start for start, _ in sentence_starts(document)]
    for tree, start, stop in zip(trees or (), starts, [*starts[1:], len(document.words)], strict=trees is not None):
        if tree.words != document.words[start:stop]:
            raise AtlasError(
                f"document {document.id}: the sentence {' '.join(document.words[start:stop])!r} is {' '.join(tree.words)!r} "
                "in the treebank of this corpus; both must contain the same sentences in the same order."
            )
    parsed: dict[int, Constituents] = {}
    sizes = Counter(span.label for span in document.spans)
    seen: set[str] = set()
    mentions = []
    for span in document.spans:
        number = document.sentence[span.start]
        begin = starts[number]
        inside = (span.start - begin, span.stop - begin)
        words = document.words[span.start : span.stop]
        heads = {"surface": span.start + surface_head(words), "last": span.stop - 1}
        if document.parses[number]:
            if number not in parsed:
                parsed[number] = sentence_parse(document, number)
            heads["constituents"] = begin + span_head(parsed[number], *inside)
        if trees is not None:
            heads["dependency"] = begin + dependency_head(*inside, trees[number].heads)
        head = next(heads[rule] for rule in BEST_HEAD_RULE if rule in heads)
        mentions.append(
            Mention(
                span.start,
                span.stop,
                span.label,
                first=span.label not in seen,
                singleton=sizes[span.label] == 1,
                heads=dict(sorted(heads.items())),
                entity=next((entity.label for entity in document.entities if entity.start <= head < entity.stop), ""),
            )
        )
        seen.add(span.label)
    return mentions


def mentions_between(mentions: Sequence[Mention], start: int, stop: int) -> tuple[tuple[Mention, ...], int]:
    """Mentions inside a window, at positions in the window, and the number of mentions that cross its edges."""
    cut = sum(m.start < stop < m.stop or m.start < start < m.stop for m in mentions)
    moved = (
        replace(m, start=m.start - start, stop=m.stop - start, heads={rule: head - start for rule, head in m.heads.items()})
        for m in mentions
        if start <= m.start and m.stop <= stop
    )
    return tuple(moved), cut


def trees_of_documents(documents: Iterator[Document], trees: Iterator[_Tree]) -> Iterator[tuple[Document, list[_Tree]]]:
    """Each document with the dependency trees of its sentences (or functions that build them), read in parallel."""
    for document in documents:
        document_trees = list(islice(trees, len(document.parses)))
        if len(document_trees) < len(document.parses):
            raise AtlasError(f"document {document.id}: the treebank of this corpus ends before its sentences do.")
        yield document, document_trees


def head_leaf(tree: Constituents) -> int:
    """Position of a constituent's head word among its leaves.

    Noun phrases: the last noun of the phrase, not of its postmodifiers; before a possessive mark at the end, the noun before
    it; otherwise the first noun phrase inside, then the last adjective or number, then the last word.
    """
    position, node = 0, tree
    while not isinstance(node, str) and not (len(node) == 1 and isinstance(node[0], str)):
        child = _head_child(node)
        position += sum(len(sibling.leaves()) for sibling in node[:child])
        node = node[child]
    return position


def span_head(tree: Constituents, start: int, stop: int) -> int:
    """Position among the leaves of `tree` of the head word of the leaves start .. stop - 1."""
    parts = _cover(tree, start, stop)
    if len(parts) == 1:
        return start + head_leaf(parts[0])
    child = _noun_child(list(map(_category, parts)))
    return start + sum(len(part.leaves()) for part in parts[:child]) + head_leaf(parts[child])


def _cover(tree: Constituents, start: int, stop: int) -> list[Constituents]:
    """The largest constituents that together cover exactly the leaves start .. stop - 1."""
    if start <= 0 and stop >= len(tree.leaves()):
        return [tree]
    parts: list[Constituents] = []
    begin = 0
    for child in tree:
        end = begin + len(child.leaves())
        if end > start and begin < stop:
            parts += _cover(child, start - begin, stop - begin)
        begin = end
    return parts


def _category(node: Constituents) -> str:
    """A constituent's label without function tags and indices: NP-SBJ and NP=2 are NP, -LRB- is itself."""
    return node.label().split("-")[0].split("=")[0] or node.label()


def _head_child(node: Constituents) -> int:
    labels, category = list(map(_category, node)), _category(node)
    if category in _PHRASES or category not in _HEAD_RULES:
        return _noun_child(labels)
    side, preferred = _HEAD_RULES[category]
    order = range(len(labels)) if side == "left" else range(len(labels) - 1, -1, -1)
    return next((k for label in preferred for k in order if labels[k] == label), order[0])


def _noun_child(labels: list[str]) -> int:
    # Children from a comma, a preposition or a clause onwards are modifiers; the head precedes them.
    modifiers = (k for k, label in enumerate(labels) if k and label in (",", ":", "PP", "SBAR", "S", "VP", "-LRB-", "CC"))
    stop = next(modifiers, None)
    core = range(stop if stop is not None else len(labels))
    possessive = len(labels) > 1 and labels[-1] == "POS" and stop is None
    # A phrase directly after a name is the rest of the name: (NP (NNP Mr.) (NP (NNP James) (NNP Novak))).
    named = [k for k in core if k and labels[k] in _PHRASES and labels[k - 1].startswith("NNP")]
    nouns = sorted({*named, *(k for k in core if labels[k] in _NOUNS and not (possessive and k == len(labels) - 1))})
    if nouns:
        return nouns[-1]
    for wanted in (_PHRASES, ("PRP", "PRP$", "WP", "EX"), ("$", "CD", "QP", "JJ", "JJS", "RB"), ("DT", "WDT")):
        if matching := [k for k in core if labels[k] in wanted]:
            return matching[0] if wanted is _PHRASES else matching[-1]
    return core[-1]
