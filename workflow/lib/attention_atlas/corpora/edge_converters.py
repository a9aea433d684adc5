"""Edge-probing records from annotated corpora, labels as the published converters make them (Tenney et al. 2019)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from nltk import Tree as Constituents

from attention_atlas.corpora.conll2012 import Document
from attention_atlas.corpora.edges import EdgeRecord, EdgeTarget, WordSpan
from attention_atlas.corpora.propositions import Proposition
from attention_atlas.corpora.text import WORD
from attention_atlas.corpora.trees import Tree, children
from attention_atlas.corpora.windows import sentence_parse, sentence_starts
from attention_atlas.errors import AtlasError
from attention_atlas.files import read_lines

SAME, OTHER = "1", "0"
"""Labels of two mentions of one chain, and of different chains."""


def tag_edges(trees: Iterable[Tree]) -> Iterator[EdgeRecord]:
    """Parts of speech: a word a target, its language-specific tag (XPOS) as label."""
    for tree in trees:
        yield _record(tree, [EdgeTarget((k, k + 1), None, (tag,)) for k, tag in enumerate(tree.xpos)])


def dependency_edges(trees: Iterable[Tree]) -> Iterator[EdgeRecord]:
    """Dependencies: span1 is a word, span2 its head; the root is paired with itself."""
    for tree in trees:
        targets = []
        for k, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True)):
            place = head - 1 if head else k
            targets.append(EdgeTarget((k, k + 1), (place, place + 1), (relation,)))
        yield _record(tree, targets)


def role_edges(sentences: Iterable[tuple[Tree, tuple[Proposition, ...]]], whole: bool = True) -> Iterator[EdgeRecord]:
    """Semantic roles: a record a predicate; span1 is the predicate, span2 an argument.

    Args:
        sentences: of `propositions.read_propositions`, which name the words that head arguments.
        whole: arguments as all words below their head, from the first to the last; else the head alone. An argument that the
            predicate lies in (a relative clause's noun) is its head alone either way.
    """
    for tree, propositions in sentences:
        below = children(tree.heads)
        for proposition in propositions:
            predicate = proposition.predicate
            targets = []
            for head, role in proposition.arguments:
                span = _subtree(below, head) if whole else (head - 1, head)
                if span[0] < predicate <= span[1]:
                    span = (head - 1, head)
                targets.append(EdgeTarget((predicate - 1, predicate), span, (role,)))
            yield EdgeRecord(f"{tree.id}#{predicate}", tree.words, tuple(targets))


def _subtree(below: list[list[int]], head: int) -> WordSpan:
    """All words below a word, from the first to the last."""
    first = last = head
    waiting = [head]
    while waiting:
        word = waiting.pop()
        first, last = min(first, word), max(last, word)
        waiting += below[word]
    return first - 1, last


def constituent_edges(documents: Iterable[Document]) -> Iterator[EdgeRecord]:
    """Constituents: every bracket of a parse with more above it than a word; label: its category without functions."""
    for document in documents:
        for number, (start, stop) in enumerate(sentence_starts(document)):
            parse = sentence_parse(document, number)
            found = _brackets(parse)
            yield EdgeRecord(f"{document.id}-{number + 1}", document.words[start:stop], tuple(found))


def _brackets(parse: Constituents) -> Iterator[EdgeTarget]:
    def walk(node: Constituents, start: int) -> Iterator[EdgeTarget]:
        size = len(node.leaves())
        inner = [child for child in node if isinstance(child, Constituents)]
        if inner:
            label = re.split(r"[-=|]", node.label())[0]
            if label and label != "TOP":
                yield EdgeTarget((start, start + size), None, (label,))
        place = start
        for child in node:
            if isinstance(child, Constituents):
                yield from walk(child, place)
                place += len(child.leaves())
            else:
                place += 1

    return walk(parse, 0)


def coreference_edges(documents: Iterable[Document]) -> Iterator[EdgeRecord]:
    """Coreference within sentences: every pair of annotated mentions, "1" for one chain and "0" for two."""
    for document in documents:
        for number, (start, stop) in enumerate(sentence_starts(document)):
            own = [span for span in document.spans if start <= span.start and span.stop <= stop]
            targets = [
                EdgeTarget(
                    (one.start - start, one.stop - start),
                    (two.start - start, two.stop - start),
                    (SAME if one.chain == two.chain else OTHER,),
                )
                for one, two in combinations(own, 2)
            ]
            yield EdgeRecord(f"{document.id}-{number + 1}", document.words[start:stop], tuple(targets))


_SENTENCE = re.compile(r'^(\d+)\t"(.*)"\s*$')
_MARK = re.compile(r"</?e[12]>")


def relation_edges(path: str | Path) -> Iterator[EdgeRecord]:
    """Relations of SemEval-2010 task 8 in its own form: a sentence with <e1> and <e2>, then a line with the relation.

    Raises:
        AtlasError: a sentence without both marks, or without a relation; names file and line.
    """
    held: tuple[str, str, str] | None = None
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        if found := _SENTENCE.match(line):
            if held is not None:
                raise AtlasError(f"{where}: the sentence before this one has no relation.")
            held = found[1], found[2], where
        elif held is not None:
            yield _relation(*held, line.strip())
            held = None
    if held is not None:
        raise AtlasError(f"{held[2]}: this sentence has no relation: the file breaks off.")


def _relation(name: str, text: str, where: str, label: str) -> EdgeRecord:
    words: list[str] = []
    ends: dict[str, int] = {}
    place = 0
    for mark in _MARK.finditer(text):
        words += WORD.findall(text[place : mark.start()])
        ends[mark[0]] = len(words)
        place = mark.end()
    words += WORD.findall(text[place:])
    try:
        spans = [(ends[f"<e{k}>"], ends[f"</e{k}>"]) for k in (1, 2)]
    except KeyError as error:
        raise AtlasError(f"{where}: the sentence has no {error.args[0]}: both entities must be marked.") from error
    if not label or any(start >= stop for start, stop in spans):
        raise AtlasError(f"{where}: a relation in the next line and words between the marks are needed.")
    return EdgeRecord(name, tuple(words), (EdgeTarget(spans[0], spans[1], (label,)),))


def coin_flips(records: Iterable[EdgeRecord], seed: int = 42, share: float = 0.15) -> Iterator[tuple[EdgeRecord, bool]]:
    """Each record with whether it belongs to the development set: a coin flip a record, as the published code parts SemEval.

    With its seed this gives the 6,851 and 1,149 records of the authors' corrected table.
    """
    generator = random.Random(seed)
    for record in records:
        yield record, generator.random() > 1 - share


def _record(tree: Tree, targets: Iterable[EdgeTarget]) -> EdgeRecord:
    return EdgeRecord(tree.id, tree.words, tuple(targets))
