"""Examples of treebanks; English Universal Dependencies (version 2) converted to basic Stanford Dependencies (2010 to 2013).

Clark et al. (2019, section 4.2) measure attention heads on the Penn Treebank in Stanford Dependencies, a licensed
corpus. The conversion gives an open treebank the same labels and, above all, the same heads: prepositions head their
phrases, names are headed by their last word. It approximates manual annotation; it is not the converter from
constituents, and counts on converted text differ from the published ones.

Rules, after the Stanford typed dependencies manual (de Marneffe and Manning 2008, revisions up to 2013) and the
definitions of the relations in CoreNLP's `EnglishGrammaticalRelations`; left UD, right Stanford:

==============================  =======================================================================================
case + obl, nmod, ...           the adposition replaces the noun as `prep`, the noun is its `pobj`; an adverb or a
                                clause is `pcomp`; an adposition that modifies a number to its right is `quantmod`
several case words              a stack: prep(came, from), pcomp(from, behind), pobj(behind, house)
case 's, nmod:poss              possessive(John, 's), poss(hat, John)
fixed                           `mwe`; headed by the last word in because of, such as, instead of, due to, more than,
                                up to, as well; by "well" in as well as; "according to", "prior to", "out of", "as
                                of/to/for" are stacks; "of course" is prep and pobj; all others by the first word
mark + clause                   `mark`, infinitival "to" is `aux`; a preposition ("by doing", "of whether") replaces
                                the clause as `prep` and the clause is `pcomp`
cop + phrase or adverb          "is in the house", "is here": the copula is the head, the phrase its prep or advmod
cop + clause                    "is that ...", "is to ...": the copula is the head, the clause its `ccomp` or `xcomp`
punct                           commas, colons and dashes at the edge of a phrase attach to what the phrase modifies
conj, cc                        both attach to the first conjunct; coordinated phrases to the first preposition
flat                            the last noun is the head, the words before it `nn`, numbers `num`
dates                           "March 28, 2005" is headed by the month, the numbers are `num`
obj, iobj                       dobj, iobj; an iobj without a sister obj is dobj
nsubj, csubj, aux and :pass     the same with nsubjpass, csubjpass, auxpass; :outer is dropped
expl                            "there" expl; "it" nsubj (nsubjpass, dobj), and its clause on the right ccomp or xcomp
xcomp                           acomp for an adjective after a linking verb without object, else xcomp
ccomp, advcl                    xcomp for a bare infinitive: all such ccomp, an advcl after an adjective ("ready to go")
acl                             rcmod (acl:relcl), infmod (to), partmod (-ing, -ed), ccomp (a finite clause), amod
advmod                          neg for not, n't, never; quantmod before a number; else advmod
nummod, compound                num, and number inside a number; nn, prt (:prt), npadvmod or advmod on an adjective
bare obl, nmod                  prep for a stranded preposition; num for a number; tmod for a time, npadvmod for other
                                measures and amounts; nn for a title or another noun in front; else dep
det, amod, appos, parataxis,    unchanged, with predet (det:predet), preconj (cc:preconj)
discourse, goeswith
vocative, dislocated, list,     dep
orphan, reparandum, clf, dep
==============================  =======================================================================================

Remaining differences: the determiner "no" stays `det`; free relatives ("what he said") keep the pronoun as their
head, as in UD; hyphenated words that UD splits stay split.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_atlas.corpora.conllu import UNKNOWN, SeveralRootsError, Tree, tree_builders
from attention_atlas.corpora.stanford_structure import NEGATIONS, TIME_NOUNS, Draft, restructure
from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example, ExampleBuilder
    from attention_atlas.corpora.records import Dropped

_log = logging.getLogger(__name__)
_LAYERS = ("heads", "relations", "lemmas", "upos", "xpos")

_UNIVERSAL = frozenset(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed flat "
    "goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp".split()
)
"""The relations of Universal Dependencies, version 2; treebanks can add subtypes only."""
_OTHER_SCHEMES = {
    "version 1 of Universal Dependencies": frozenset("auxpass csubjpass dobj foreign mwe name neg nsubjpass remnant".split()),
    "Stanford Dependencies": frozenset(
        "abbrev acomp agent attr auxpass complm csubjpass dobj infmod mwe neg nn npadvmod nsubjpass num number partmod pcomp "
        "pobj poss possessive preconj predet prep prt purpcl quantmod rcmod ref rel tmod vmod xsubj".split()
    ),
}
"""Other schemes, with the relations that version 2 of Universal Dependencies does not have."""
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


def conllu_records(entry: Mapping[str, Any], raw: str | Path, companion: str | Path | None) -> Iterator[Callable[[], Tree]]:
    return tree_builders(raw)


def conllu_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    """Sentences with their trees, converted to Stanford Dependencies if the corpus's entry says so."""
    without_label: Counter[str] = Counter()
    for build in builder.records(start, stop):
        try:
            tree = build()
        except SeveralRootsError as error:
            yield error.dropped
            continue
        if builder.entry["view"] == "stanford":
            relations, tree = tree.relations, to_stanford(tree, builder.raw)
            without_label.update(ud for ud, stanford in zip(relations, tree.relations, strict=True) if stanford == "dep")
        layers = {name: getattr(tree, name) for name in _LAYERS}
        layers = {name: values for name, values in layers.items() if any(value not in (UNKNOWN, "") for value in values)}
        yield builder.example(tree.id, tree.words, tree.spaces, layers=layers, document=tree.document)
    if without_label:
        counts = ", ".join(f"{relation} {count}" for relation, count in without_label.most_common())
        _log.info("%s: words with the Stanford relation dep, by their UD relation: %s", builder.raw, counts)


def to_stanford(tree: Tree, source: str | Path = "the treebank") -> Tree:
    """Convert a well-formed UD tree into basic Stanford Dependencies over the same words (rules: see the module).

    Relations with unknown subtypes are treated as their main type, so trees of other languages are accepted, though their
    labels mean little. `source` is the file, for messages.
    """
    draft = Draft(tree)
    if foreign := {i: draft.main(i) for i in range(1, draft.size + 1) if draft.heads[i] and draft.main(i) not in _UNIVERSAL}:
        schemes = [scheme for scheme, relations in _OTHER_SCHEMES.items() if relations.issuperset(foreign.values())]
        word = min(foreign)
        raise AtlasError(
            f"{source}: sentence {tree.id!r}: word {word} {tree.words[word - 1]!r} has the relation "
            f"{tree.relations[word - 1]!r} of {' or '.join(schemes) or 'another scheme'}, but view: stanford converts version "
            "2 of Universal Dependencies. Use such a treebank, or view: none, which keeps heads and relations."
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


def _iobj(d: Draft, i: int) -> str:
    return "iobj" if d.kids(d.heads[i], "obj") else "dobj"


def _mark(d: Draft, i: int) -> str:
    if d.is_infinitive_to(i):
        return "aux"
    return "advmod" if d.tag(i) == "WRB" else "mark"


def _nummod(d: Draft, i: int) -> str:
    return "number" if d.upos(d.heads[i]) == "NUM" else "num"


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
    "iobj": _iobj,
    "mark": _mark,
    "nmod": _bare_nominal,
    "nummod": _nummod,
    "obl": _bare_nominal,
    "xcomp": _xcomp,
}
