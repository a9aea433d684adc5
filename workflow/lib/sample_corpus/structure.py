"""One structure from which every layer of a sentence is read: phrase tree, both dependency trees, spans.

A sentence is a tree of `Node`s. Each node says which child is its head and how every other child depends on it, once in
Stanford Dependencies (SD, basic, as in the manual of 2013) and once in Universal Dependencies (UD, version 2), because the
two schemes disagree on heads: the preposition or its object, the copula or the predicate, the last or the first part of a
name. Words, brackets, both dependency trees, entity spans and mention spans are derived from it in one pass, so the layers
cannot contradict each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sample_corpus.reference import Reference

SD_RELATIONS = frozenset(
    "acomp advcl advmod amod appos aux auxpass cc ccomp conj cop csubj csubjpass det dobj expl infmod iobj mark neg nn "
    "npadvmod nsubj nsubjpass num number parataxis partmod pcomp pobj poss possessive preconj predet prep prt punct "
    "quantmod rcmod root tmod xcomp".split()
)
UD_RELATIONS = frozenset(
    "acl acl:relcl advcl advmod amod appos aux aux:pass case cc cc:preconj ccomp compound compound:prt conj cop csubj "
    "csubj:pass det det:predet expl flat iobj mark nmod nmod:poss nsubj nsubj:pass nummod obj obl obl:agent obl:npmod "
    "obl:tmod parataxis punct root xcomp".split()
)
PUNCTUATION_TAGS = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-"})


@dataclass(eq=False)
class Node:
    """A phrase, or a word when `form` is set.

    `label` is the constituent label (Penn Treebank style) or, for a word, its XPOS tag. `mention` is the key of the
    discourse entity that the phrase refers to, `entity_type` its OntoNotes-like type. `plural` and `person` serve agreement,
    `reference` marks a phrase that is worded later, once the sentence order is known. `slots` is free for further layers
    (sense and semantic roles of a predicate, for instance).
    """

    label: str
    edges: list[Edge] = field(default_factory=list)
    form: str = ""
    lemma: str = ""
    upos: str = ""
    mention: str = ""
    mention_type: str = ""
    entity_type: str = ""
    constructions: tuple[str, ...] = ()
    capital: bool = False
    soft: bool = False
    plural: bool = False
    person: int = 3
    reference: Reference | None = None
    slots: dict[str, Any] = field(default_factory=dict)

    def add(self, child: Node, sd: str | None, ud: str | None, sd_to: Node | None = None, ud_to: Node | None = None) -> Node:
        """Append a child; relation None makes it the head in that scheme, `*_to` names a head other than this node's."""
        self.edges.append(Edge(child, sd, ud, sd_to, ud_to))
        return self


@dataclass(eq=False)
class Edge:
    """A child with its relation in both schemes; None is the head. `sd_to`, `ud_to` override the governor."""

    child: Node
    sd: str | None
    ud: str | None
    sd_to: Node | None = None
    ud_to: Node | None = None


@dataclass(frozen=True)
class Span:
    """Tokens start..stop-1 (0-indexed) of a sentence with the node they come from."""

    start: int
    stop: int
    node: Node


@dataclass
class Layers:
    """What `read_layers` derives: words in order and everything aligned to them; heads are 1-indexed, 0 is ROOT."""

    words: list[Node]
    sd_heads: list[int]
    sd_relations: list[str]
    ud_heads: list[int]
    ud_relations: list[str]
    brackets: str
    spans: list[Span]
    constructions: list[str]


def word(form: str, lemma: str, upos: str, xpos: str) -> Node:
    """A leaf."""
    return Node(label=xpos, form=form, lemma=lemma, upos=upos)


def comma(soft: bool = False) -> Node:
    """A comma; a soft one disappears next to other punctuation (the second comma of an apposition, for instance)."""
    leaf = word(",", ",", "PUNCT", ",")
    leaf.soft = soft
    return leaf


def phrase(label: str, head: Node, *constructions: str) -> Node:
    """A phrase that so far has only its head."""
    return Node(label=label, constructions=constructions).add(head, None, None)


def leaves(node: Node) -> Iterator[Node]:
    """The words under `node`, left to right."""
    if node.form:
        yield node
    for edge in node.edges:
        yield from leaves(edge.child)


def nodes(node: Node) -> Iterator[Node]:
    """All nodes under `node`, itself first, left to right (children added meanwhile are visited too)."""
    yield node
    for edge in node.edges:
        yield from nodes(edge.child)


def head_word(node: Node, scheme: str) -> Node:
    """The lexical head of a phrase in scheme "sd" or "ud"."""
    while not node.form:
        heads = [edge.child for edge in node.edges if getattr(edge, scheme) is None]
        if len(heads) != 1:
            raise ValueError(f"{node.label} has {len(heads)} heads in {scheme}: {' '.join(w.form for w in leaves(node))}")
        node = heads[0]
    return node


def finish_surface(root: Node) -> None:
    """Drop soft commas next to other punctuation, choose a/an by the next word, and set capital letters."""
    order = list(leaves(root))
    dropped = set()
    for position, leaf in enumerate(order):
        if not leaf.soft:
            continue
        before = next((w for w in reversed(order[:position]) if id(w) not in dropped), None)
        after = order[position + 1] if position + 1 < len(order) else None
        if before is None or before.label in PUNCTUATION_TAGS or after is None or _closes(after):
            dropped.add(id(leaf))
    for node in list(nodes(root)):
        node.edges = [edge for edge in node.edges if id(edge.child) not in dropped]
    order = list(leaves(root))
    for leaf, following in itertools.pairwise(order):
        if leaf.label == "DT" and leaf.lemma == "a":
            leaf.form = "an" if starts_with_vowel_sound(following.form) else "a"
    for node in nodes(root):
        if node.capital or node is root:
            first = next(leaf for leaf in leaves(node) if leaf.label not in PUNCTUATION_TAGS)
            first.form = first.form[0].upper() + first.form[1:]


def _closes(leaf: Node) -> bool:
    return leaf.label in PUNCTUATION_TAGS and leaf.label not in ("``", "-LRB-")


def starts_with_vowel_sound(form: str) -> bool:
    """Whether the article before `form` is "an"."""
    low = form.lower()
    if low.startswith(("hour", "honest", "honour", "heir", "8", "11", "18")) or form in ("MBA", "FBI", "NGO"):
        return not low.startswith("18,") if low.startswith("18") else True
    if low.startswith(("one", "once", "uni", "use", "usu", "eu", "uti")) and not low.startswith("unin"):
        return False
    if form[:2] in ("U.",):
        return False
    return low[0] in "aeiou"


def read_layers(root: Node) -> Layers:
    """Derive all layers of a finished sentence (`finish_surface` has been called)."""
    words = list(leaves(root))
    position = {id(leaf): index for index, leaf in enumerate(words)}
    heads = {scheme: [0] * len(words) for scheme in ("sd", "ud")}
    relations = {scheme: ["root"] * len(words) for scheme in ("sd", "ud")}
    spans: list[Span] = []
    constructions: list[str] = []

    def visit(node: Node) -> tuple[int, int]:
        constructions.extend(name for name in node.constructions if name not in constructions)
        if node.form:
            start, stop = position[id(node)], position[id(node)] + 1
        else:
            inner = [visit(edge.child) for edge in node.edges]
            start, stop = inner[0][0], inner[-1][1]
        if node.mention or node.entity_type:
            spans.append(Span(start, stop, node))
        for scheme in ("sd", "ud"):
            for edge in node.edges:
                relation = getattr(edge, scheme)
                if relation is None:
                    continue
                governor = getattr(edge, f"{scheme}_to") or node
                dependent = position[id(head_word(edge.child, scheme))]
                heads[scheme][dependent] = position[id(head_word(governor, scheme))] + 1
                relations[scheme][dependent] = relation
        return start, stop

    visit(root)
    return Layers(words, heads["sd"], relations["sd"], heads["ud"], relations["ud"], bracketing(root), spans, constructions)


def bracketing(node: Node) -> str:
    """Penn Treebank bracketing; brackets among the words are written -LRB- and -RRB-."""
    if node.form:
        form = {"(": "-LRB-", ")": "-RRB-"}.get(node.form, node.form)
        return f"({node.label} {form})"
    return f"({node.label} {' '.join(bracketing(edge.child) for edge in node.edges)})"


def spaces_after(words: list[Node]) -> list[bool]:
    """Whether a space follows each word in running text."""
    spaces = []
    for leaf, following in zip(words, [*words[1:], None], strict=True):
        glued = following is not None and (
            (following.label in PUNCTUATION_TAGS and following.label not in ("``", "-LRB-"))
            or following.label == "POS"
            or following.form == "n't"
            or following.form in ("'s", "'re", "'ll", "'ve", "'d", "'m")
            or (leaf.lemma == "can" and following.form == "not")
            or following.form == "%"
        )
        spaces.append(not (glued or leaf.label in ("``", "-LRB-", "$")))
    return spaces
