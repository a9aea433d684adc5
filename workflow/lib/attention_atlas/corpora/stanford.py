"""Examples of treebanks; English Universal Dependencies (version 2) converted to basic Stanford Dependencies (2010 to 2013).

Clark et al. (2019, section 4.2) measure heads on the licensed Penn Treebank in Stanford Dependencies. The conversion gives
an open treebank the same labels and heads, approximately: counts on converted text differ from the published ones. The
rules, with what differs from the treebank, are in docs/stanford-dependencies.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from attention_atlas.corpora.conllu import UNKNOWN, SeveralRootsError, Tree
from attention_atlas.corpora.conllu import tree_builders as conllu_records  # noqa: F401 (the reader)
from attention_atlas.corpora.stanford_structure import NEGATIONS, TIME_NOUNS, Draft, restructure
from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example, ExampleBuilder
    from attention_atlas.corpora.records import Dropped

_LAYERS = ("heads", "relations", "lemmas", "upos", "xpos")

_UNIVERSAL = frozenset(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed flat "
    "goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp".split()
)
"""The relations of Universal Dependencies, version 2; treebanks can add subtypes only."""
_NOUNS = frozenset({"NOUN", "PROPN", "PRON", "X", "SYM", "NUM"})

_BY_SUBTYPE = {
    "acl:relcl": "rcmod",
    "aux:pass": "auxpass",
    "cc:preconj": "preconj",
    "compound:prt": "prt",
    "csubj:pass": "csubjpass",
    "det:poss": "poss",
    "det:predet": "predet",
    "nmod:desc": "nn",
    "nmod:npmod": "npadvmod",
    "nmod:poss": "poss",
    "nmod:tmod": "tmod",
    "nsubj:pass": "nsubjpass",
    "obl:npmod": "npadvmod",
    "obl:tmod": "tmod",
}
_UNCHANGED = frozenset("amod appos aux cc conj cop det discourse goeswith nsubj parataxis punct".split())
_RENAMED = {"case": "prep", "fixed": "mwe", "flat": "nn", "obj": "dobj"}


def conllu_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    """Sentences with their trees, converted to Stanford Dependencies if the corpus's entry says so."""
    for build in builder.records(start, stop):
        try:
            tree = build()
        except SeveralRootsError as error:
            yield error.dropped
            continue
        if builder.entry["view"] == "stanford":
            tree = to_stanford(tree, builder.raw)
        layers = {name: getattr(tree, name) for name in _LAYERS}
        layers = {name: values for name, values in layers.items() if any(value not in (UNKNOWN, "") for value in values)}
        yield builder.example(tree.id, tree.words, tree.spaces, layers=layers, document=tree.document)


def to_stanford(tree: Tree, source: str | Path = "the treebank") -> Tree:
    """Convert a well-formed UD tree into basic Stanford Dependencies over the same words (rules: see the module).

    Relations with unknown subtypes are treated as their main type, so trees of other languages are accepted, though their
    labels mean little. `source` is the file, for messages.
    """
    draft = Draft(tree)
    if foreign := [i for i in range(1, draft.size + 1) if draft.heads[i] and draft.main(i) not in _UNIVERSAL]:
        word = f"word {foreign[0]} {tree.words[foreign[0] - 1]!r} has the relation {tree.relations[foreign[0] - 1]!r}"
        raise AtlasError(
            f"{source}: sentence {tree.id!r}: {word}, which version 2 of Universal Dependencies does not have. Use a treebank "
            "in it, or view: none, which keeps heads and relations."
        )
    restructure(draft)
    labels = tuple(_label(draft, i) for i in range(1, draft.size + 1))
    return replace(tree, heads=tuple(draft.heads[1:]), relations=labels)


def _label(d: Draft, i: int) -> str:
    if d.heads[i] == 0:
        return "root"
    if d.labels[i] == "prep" and i < d.heads[i] and d.upos(d.heads[i]) == "NUM":
        return "quantmod"
    if d.labels[i]:
        return d.labels[i]
    if d.relations[i] in _BY_SUBTYPE:
        return _BY_SUBTYPE[d.relations[i]]
    if rule := _RULES.get(d.main(i)):
        return rule(d, i)
    return d.main(i) if d.main(i) in _UNCHANGED else _RENAMED.get(d.main(i), "dep")


def _acl(d: Draft, i: int) -> str:
    if d.has_to(i):
        return "infmod"
    form = d.first_verb_form(i)
    if form in ("VBG", "VBN"):
        return "partmod"
    if d.upos(i) in ("VERB", "AUX") or d.kids(i, "nsubj", "mark"):
        return "ccomp"
    return "amod" if d.upos(i) == "ADJ" else "dep"


def _advmod(d: Draft, i: int) -> str:
    if d.word(i) in NEGATIONS:
        return "neg"
    if i < d.heads[i] and (d.upos(d.heads[i]) == "NUM" or d.tag(d.heads[i]) == "$"):
        return "quantmod"
    return "advmod"


def _compound(d: Draft, i: int) -> str:
    head = d.heads[i]
    if d.upos(i) == "NUM":
        return "number" if d.upos(head) == "NUM" else "num"
    if d.upos(head) in _NOUNS:
        return "amod" if d.upos(i) in ("ADJ", "VERB") else "nn"
    if d.upos(i) in _NOUNS:
        return "npadvmod"
    return "prt" if d.tag(i) == "RP" else "advmod"


def _advcl(d: Draft, i: int) -> str:
    """An infinitive after an adjective ("ready to leave") is its complement."""
    complement = d.upos(d.heads[i]) == "ADJ" and i > d.heads[i]
    return "xcomp" if complement and d.has_to(i) and not d.kids(i, "nsubj") else "advcl"


def _ccomp(d: Draft, i: int) -> str:
    """An infinitive without a subject and without a question word is an open complement."""
    question = any(d.tag(k).startswith("W") for k in range(1, d.size + 1) if d.heads[k] == i)
    return "xcomp" if d.has_to(i) and not question and not d.kids(i, "nsubj") else "ccomp"


def _csubj(d: Draft, i: int) -> str:
    extraposed = any(d.word(k) == "it" for k in d.kids(d.heads[i], "expl")) and i > d.heads[i]
    if not extraposed:
        return "csubj"
    return "xcomp" if d.has_to(i) and not d.kids(i, "nsubj") else "ccomp"


def _expl(d: Draft, i: int) -> str:
    if d.tag(i) == "EX" or d.word(i) == "there":
        return "expl"
    if d.word(i) != "it":
        return "dep"
    if i > d.heads[i] and d.kids(d.heads[i], "nsubj"):
        return "dobj"
    return "nsubjpass" if any(d.relations[k] == "aux:pass" for k in d.kids(d.heads[i])) else "nsubj"


def _mark(d: Draft, i: int) -> str:
    if d.is_infinitive_to(i):
        return "aux"
    return "advmod" if d.tag(i) == "WRB" else "mark"


def _bare_nominal(d: Draft, i: int) -> str:
    """An `obl` or `nmod` without an adposition."""
    head = d.heads[i]
    if d.upos(i) == "ADP":
        return "prep"
    if d.main(i) == "nmod" and d.upos(i) == "NUM":
        return "num"
    if d.relations[i] == "nmod":
        return "nn" if i < head and d.upos(i) in _NOUNS else "dep"
    if d.relations[i] == "obl" and d.upos(i) not in _NOUNS:
        return "dep"
    measures = d.main(i) == "nmod" and any(d.word(k) in ("a", "an", "each", "every", "per") for k in d.kids(i, "det"))
    modifies_next = d.upos(head) in ("ADJ", "ADV", "ADP", "VERB") and 0 < head - i <= 2 and d.main(i) == "obl"
    adjacent = modifies_next and all(d.upos(k) == "PUNCT" for k in range(i + 1, head)) and d.upos(head) != "VERB"
    lemma = d.tree.lemmas[i - 1].lower().rstrip(".")
    is_time = lemma in TIME_NOUNS or d.word(i).rstrip(".") in TIME_NOUNS
    return "tmod" if is_time and not measures and not adjacent else "npadvmod"


def _xcomp(d: Draft, i: int) -> str:
    head = d.heads[i]
    linking = d.upos(head) == "VERB" and not d.kids(head, "obj")
    passive = any(d.relations[k] == "nsubj:pass" for k in d.kids(head))
    predicate = d.upos(i) == "ADJ" and not d.kids(i, "mark", "cop", "nsubj")
    return "acomp" if linking and predicate and not passive else "xcomp"


_RULES: dict[str, Callable[[Draft, int], str]] = {
    "acl": _acl,
    "advcl": _advcl,
    "advmod": _advmod,
    "ccomp": _ccomp,
    "compound": _compound,
    "csubj": _csubj,
    "expl": _expl,
    "iobj": lambda d, i: "iobj" if d.kids(d.heads[i], "obj") else "dobj",
    "mark": _mark,
    "nmod": _bare_nominal,
    "nummod": lambda d, i: "number" if d.upos(d.heads[i]) == "NUM" else "num",
    "obl": _bare_nominal,
    "xcomp": _xcomp,
}
