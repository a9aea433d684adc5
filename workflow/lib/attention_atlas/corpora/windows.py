"""Windows of documents: stretches of text that are model inputs, and the mentions in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from attention_atlas.corpora.alignment import last_that_fits
from attention_atlas.corpora.conll2012 import Document, sentence_parse, sentence_starts
from attention_atlas.corpora.mentions import BEST_HEAD_RULE, Mention, dependency_head, surface_head
from attention_atlas.corpora.noun_heads import span_head
from attention_atlas.corpora.trees import Tree
from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from nltk import Tree as Constituents


_Tree = TypeVar("_Tree")


def document_windows(sentence: Sequence[int], sizes: Sequence[int], room: int, windows: str) -> list[tuple[int, int]]:
    """Words start .. stop - 1 of each window of a document.

    Args:
        sentence: for each word the number of its sentence.
        sizes: number of word pieces of each word.
        room: maximum number of tokens in a window, without special tokens.
        windows: "first" cuts the document after the last word that fits (Clark et al. 2019: documents truncated to 128 tokens);
            "all" continues with further windows; a window ends with a sentence if one ends in its second half.
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
    """All mentions of a document, at positions in the document, with head words by every rule that the source supports.

    Args:
        document: words, parses and spans.
        trees: dependency trees of its sentences, None if there are none.

    Raises:
        AtlasError: a parse cannot be read, or the trees belong to other sentences.
    """
    starts = [start for start, _ in sentence_starts(document)]
    if trees is not None:
        _check_trees(document, trees, starts)
    parsed: dict[int, Constituents] = {}
    sizes: dict[str, int] = {}
    for span in document.spans:
        sizes[span.chain] = sizes.get(span.chain, 0) + 1
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
                span.chain,
                first=span.chain not in seen,
                singleton=sizes[span.chain] == 1,
                heads=dict(sorted(heads.items())),
                entity=next((entity.label for entity in document.entities if entity.start <= head < entity.stop), ""),
            )
        )
        seen.add(span.chain)
    return mentions


def mentions_between(mentions: Sequence[Mention], start: int, stop: int) -> tuple[tuple[Mention, ...], int]:
    """Mentions inside a window, at positions in the window, and the number of mentions that cross its edges."""
    whole = [m for m in mentions if start <= m.start and m.stop <= stop]
    cut = sum(m.start < stop < m.stop or m.start < start < m.stop for m in mentions)
    return tuple(_moved(m, start) for m in whole), cut


def trees_of_documents(documents: Iterator[Document], trees: Iterator[_Tree]) -> Iterator[tuple[Document, list[_Tree]]]:
    """Each document with the dependency trees of its sentences (or functions that build them), read in parallel.

    Raises:
        AtlasError: the trees end before the documents do.
    """
    for document in documents:
        document_trees = []
        for _ in document.parses:
            tree = next(trees, None)
            if tree is None:
                raise AtlasError(f"document {document.id}: the treebank of this corpus ends before its sentences do.")
            document_trees.append(tree)
        yield document, document_trees


def _check_trees(document: Document, trees: Sequence[Tree], starts: Sequence[int]) -> None:
    stops = [*starts[1:], len(document.words)]
    for tree, start, stop in zip(trees, starts, stops, strict=True):
        if tree.words != document.words[start:stop]:
            raise AtlasError(
                f"document {document.id}: the sentence {' '.join(document.words[start:stop])!r} is {' '.join(tree.words)!r} "
                "in the treebank of this corpus; both must contain the same sentences in the same order."
            )


def _moved(mention: Mention, start: int) -> Mention:
    heads = {rule: head - start for rule, head in mention.heads.items()}
    return replace(mention, start=mention.start - start, stop=mention.stop - start, heads=heads)
