"""Verb groups: tense, aspect, voice, modality, negation with do-support, particles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sample_corpus.grammar.base import GrammarState, adverb_phrase, fault, word_in
from sample_corpus.lexicon import MODALS, PARTICLES, PAST_MODALS, contracted_stem, find_verb, lexicon, verb_form
from sample_corpus.notation import Item
from sample_corpus.structure import Edge, Node, phrase, word


@dataclass
class VerbGroup:
    """A verb segment as written: markers before the lemma, a particle after it.

    `^` after the lemma allows the passive, `%` the two orders of a verb with recipient.
    """

    lemma: str
    modal: str = ""
    tense: str = ""
    perfect: bool = False
    progressive: bool = False
    passive: bool = False
    negated: bool = False
    particle: str = ""
    may_passivise: bool = False
    recipient: bool = False
    adverbs: list[str] = field(default_factory=list)


def read_verb_group(items: tuple[Item, ...]) -> VerbGroup:
    """Parse a verb segment."""
    group = VerbGroup("")
    for position, item in enumerate(items):
        if not isinstance(item, str):
            raise fault("a verb is missing", items)
        if item in MODALS:
            group.modal = item
        elif item in ("past", "pres"):
            group.tense = item
        elif item in ("perf", "prog", "pass") and position + 1 < len(items):
            setattr(group, {"perf": "perfect", "prog": "progressive", "pass": "passive"}[item], True)
        elif item == "not":
            group.negated = True
        elif item in lexicon().adverbs and item.rstrip("^%") not in lexicon().verbs:
            group.adverbs.append(item)
        else:
            group.lemma = item.rstrip("^%")
            group.may_passivise, group.recipient = item.endswith("^"), item.endswith("%")
            rest = items[position + 1 :]
            if rest and (len(rest) > 1 or rest[0] not in PARTICLES):
                raise fault(f"{rest[0]!r} is no particle", items)
            group.particle = word_in(rest[0], items) if rest else ""
            break
    if not group.lemma:
        raise fault("a verb is missing", items)
    find_verb(group.lemma)
    return group


class VerbGroups(GrammarState):
    """Builds the verbs of a clause around its complements."""

    def verb_phrase(self, group: VerbGroup, form: str, complements: list[Edge], plural: bool, person: int) -> Node:
        """VP with auxiliaries; `form` is finite, question, infinitive, gerund, participle or base (imperative)."""
        chain = self._auxiliaries(group, form)
        tag = self._first_tag(group, form, plural, person)
        outer: list[tuple[Node, str]] = []
        for lemma, relation, next_tag in chain:
            outer.append((self._auxiliary(lemma, tag, plural, person), relation))
            tag = next_tag
        inner = self._main(group, tag, complements, plural, person, bool(outer))
        for position in range(len(outer) - 1, -1, -1):
            leaf, relation = outer[position]
            node = Node("VP").add(leaf, relation, {"auxpass": "aux:pass"}.get(relation, "aux"))
            if position == 0:
                self._after_first(node, leaf, group)
            inner = node.add(inner, None, None)
        inner.constructions += self._names(group, form)
        if form == "infinitive":
            to = word("to", "to", "PART", "TO")
            negation = Node("VP")
            if group.negated:
                negation.add(word("not", "not", "PART", "RB"), "neg", "advmod")
            inner = negation.add(to, "aux", "mark").add(inner, None, None)
        return inner

    def _auxiliaries(self, group: VerbGroup, form: str) -> list[tuple[str, str, str]]:
        """(lemma, SD relation, tag that the next verb takes), outermost first."""
        chain = []
        perfect = group.perfect or (self.frame.shifted and group.tense == "past" and group.lemma != "be")
        if form in ("finite", "question") and group.modal:
            chain.append((group.modal, "aux", "VB"))
        if perfect:
            chain.append(("have", "aux", "VBN"))
        if group.progressive:
            chain.append(("be", "aux", "VBG"))
        if group.passive and form != "participle":
            chain.append(("be", "auxpass", "VBN"))
        needs_do = (form == "finite" and group.negated) or form == "question" or (form == "base" and group.negated)
        if not chain and needs_do and group.lemma != "be":
            chain.append(("do", "aux", "VB"))
        return chain

    def _first_tag(self, group: VerbGroup, form: str, plural: bool, person: int) -> str:
        if form in ("finite", "question"):
            if group.modal:
                return "MD"
            tense = group.tense or self.frame.tense
            if tense == "past" or self.frame.shifted:
                return "VBD"
            return "VBP" if plural or person != 3 else "VBZ"
        return {"infinitive": "VB", "base": "VB", "gerund": "VBG", "participle": "VBN"}[form]

    def _auxiliary(self, lemma: str, tag: str, plural: bool, person: int) -> Node:
        if tag == "MD":
            shown = PAST_MODALS.get(lemma, lemma) if self.frame.shifted else lemma
            leaf = word(shown, lemma if not self.frame.shifted else shown, "AUX", "MD")
        else:
            leaf = word(verb_form(lemma, tag, person, plural), lemma, "AUX", tag)
        if self.frame.speaker and leaf.form in ("is", "am", "are", "have", "has", "will") and self.chance(0.6):
            leaf.slots["contractible"] = True
        return leaf

    def _after_first(self, node: Node, auxiliary: Node, group: VerbGroup) -> None:
        """Negation and preverbal adverbs follow the first auxiliary (or the copula)."""
        if group.negated and (auxiliary.label not in ("VB", "VBG", "VBN") or auxiliary.lemma == "do"):
            self._negate(node, auxiliary)
        if group.adverbs:
            node.add(self._adverbs(group), *self._adverb_relations(group))

    def _negate(self, node: Node, auxiliary: Node) -> None:
        stem = contracted_stem(auxiliary.form)
        rate = 0.7 if self.frame.speaker else self.style.contraction
        if stem is not None and self.chance(rate):
            auxiliary.form = stem
            node.add(word("n't", "not", "PART", "RB"), "neg", "advmod")
            node.constructions += ("contraction",)
        else:
            node.add(word("not", "not", "PART", "RB"), "neg", "advmod")
        auxiliary.slots.pop("contractible", None)
        node.constructions += ("negation",)

    def _adverbs(self, group: VerbGroup) -> Node:
        return adverb_phrase(*(self.adverb(form) for form in group.adverbs))

    def _adverb_relations(self, group: VerbGroup) -> tuple[str, str]:
        return ("neg" if group.adverbs[-1] == "never" else "advmod"), "advmod"

    def _main(self, group: VerbGroup, tag: str, complements: list[Edge], plural: bool, person: int, auxiliaries: bool) -> Node:
        copula = group.lemma == "be"
        leaf = word(verb_form(group.lemma, tag, person, plural), group.lemma, "AUX" if copula else "VERB", tag)
        leaf.slots["roles"] = find_verb(group.lemma).roles
        node = Node("VP")
        if copula and self.frame.speaker and leaf.form in ("is", "am", "are") and self.chance(0.6):
            leaf.slots["contractible"] = True
        if group.adverbs and not auxiliaries and not (copula and tag in ("VBD", "VBZ", "VBP")):
            node.add(self._adverbs(group), *self._adverb_relations(group))
            node.constructions += ("adverb before verb",)
        verb_edge = Edge(leaf, None, None)
        predicate = next((edge for edge in complements if edge.ud is None or edge.sd is None), None)
        if predicate is not None:
            verb_edge.sd = None if predicate.sd is not None else "cop"
            verb_edge.ud = None if predicate.ud is not None else "cop"
        elif copula:
            leaf.upos = "VERB"
        node.edges.append(verb_edge)
        if copula and not auxiliaries and tag in ("VBD", "VBZ", "VBP"):
            self._after_first(node, leaf, group)
        node.edges += self._with_particle(group, complements)
        return node

    def _with_particle(self, group: VerbGroup, complements: list[Edge]) -> list[Edge]:
        """Insert the particle: before or after a short object, always after a pronoun or unworded mention."""
        if not group.particle:
            return complements
        particle = phrase("PRT", word(group.particle, group.particle, "ADP", "RP"), "particle verb")
        edge = Edge(particle, "prt", "compound:prt")
        if complements and complements[0].sd == "dobj":
            direct_object = complements[0].child
            short = direct_object.reference is not None or sum(1 for _ in _leaves_or_mentions(direct_object)) <= 3
            pronoun = direct_object.reference is not None or "pronoun" in direct_object.constructions
            if pronoun or (short and self.chance(0.5)):
                particle.constructions = ("particle verb", "particle after object")
                return [complements[0], edge, *complements[1:]]
        return [edge, *complements]

    def _names(self, group: VerbGroup, form: str) -> tuple[str, ...]:
        names = []
        if group.modal == "will":
            names.append("future")
        elif group.modal:
            names.append("modal")
        if group.perfect:
            names.append("perfect")
        if group.progressive:
            names.append("progressive")
        if group.passive and form != "participle":
            names.append("passive")
        return tuple(names)


def _leaves_or_mentions(node: Node) -> Iterator[Node]:
    if node.form or node.reference is not None:
        yield node
        return
    for edge in node.edges:
        yield from _leaves_or_mentions(edge.child)
