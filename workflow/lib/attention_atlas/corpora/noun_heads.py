"""Head words of constituents, by simplified rules after Collins (1999, appendix A)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk import Tree

_NOUNS = ("NN", "NNS", "NNP", "NNPS", "NX", "POS", "JJR", "NML")
_PHRASES = ("NP", "NML", "NX")
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


def head_leaf(tree: Tree) -> int:
    """Position of a constituent's head word among its leaves.

    Noun phrases: the last noun of the phrase, not of its postmodifiers; before a possessive mark at the end, the noun before
    it; otherwise the first noun phrase inside, then the last adjective or number, then the last word.
    """
    position, node = 0, tree
    while not isinstance(node, str) and not _is_word(node):
        child = _head_child(node)
        position += sum(len(sibling.leaves()) for sibling in node[:child])
        node = node[child]
    return position


def span_head(tree: Tree, start: int, stop: int) -> int:
    """Position among the leaves of `tree` of the head word of the leaves start .. stop - 1.

    If the span is not a constituent, it is treated as a flat noun phrase of the largest constituents inside it.
    """
    parts = _cover(tree, start, stop)
    if len(parts) == 1:
        return start + head_leaf(parts[0])
    child = _noun_child(list(map(_category, parts)))
    return start + sum(len(part.leaves()) for part in parts[:child]) + head_leaf(parts[child])


def _cover(tree: Tree, start: int, stop: int) -> list[Tree]:
    """The largest constituents that together cover exactly the leaves start .. stop - 1."""
    if start <= 0 and stop >= len(tree.leaves()):
        return [tree]
    parts: list[Tree] = []
    begin = 0
    for child in tree:
        end = begin + len(child.leaves())
        if end > start and begin < stop:
            parts += _cover(child, start - begin, stop - begin)
        begin = end
    return parts


def _category(node: Tree) -> str:
    """A constituent's label without function tags and indices: NP-SBJ and NP=2 are NP, -LRB- is itself."""
    return node.label().split("-")[0].split("=")[0] or node.label()


def _is_word(node: Tree) -> bool:
    return len(node) == 1 and isinstance(node[0], str)


def _head_child(node: Tree) -> int:
    labels, category = list(map(_category, node)), _category(node)
    if category in _PHRASES or category not in _HEAD_RULES:
        return _noun_child(labels)
    side, preferred = _HEAD_RULES[category]
    order = range(len(labels)) if side == "left" else range(len(labels) - 1, -1, -1)
    for label in preferred:
        for k in order:
            if labels[k] == label:
                return k
    return order[0]


def _noun_child(labels: list[str]) -> int:
    # Children from a comma, a preposition or a clause onwards are modifiers; the head precedes them.
    stop = next(
        (k for k, label in enumerate(labels) if k and label in (",", ":", "PP", "SBAR", "S", "VP", "-LRB-", "CC")), None
    )
    core = range(stop if stop is not None else len(labels))
    possessive = len(labels) > 1 and labels[-1] == "POS" and stop is None
    # A phrase directly after a name is the rest of the name: (NP (NNP Mr.) (NP (NNP James) (NNP Novak))).
    named = [k for k in core if k and labels[k] in _PHRASES and labels[k - 1].startswith("NNP")]
    nouns = sorted({*named, *(k for k in core if labels[k] in _NOUNS and not (possessive and k == len(labels) - 1))})
    if nouns:
        return nouns[-1]
    for wanted in (_PHRASES, ("PRP", "PRP$", "WP", "EX"), ("$", "CD", "QP", "JJ", "JJS", "RB"), ("DT", "WDT")):
        matching = [k for k in core if labels[k] in wanted]
        if matching:
            return matching[0] if wanted is _PHRASES else matching[-1]
    return core[-1]
