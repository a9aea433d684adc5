"""Dependents of a verb other than its subject and objects: adverbials of every form and clausal complements."""

from __future__ import annotations

from sample_corpus.grammar.base import fault, is_group, marker_and_content, word_in
from sample_corpus.grammar.modifiers import Modifiers
from sample_corpus.grammar.noun_phrases import prepositional_phrase
from sample_corpus.grammar.noun_words import is_number
from sample_corpus.grammar.verb_groups import VerbGroup
from sample_corpus.lexicon import PREPOSITIONS, lexicon
from sample_corpus.notation import Group, Item, split
from sample_corpus.structure import Edge, Node, comma, phrase, word

_THAT_DROPPERS = frozenset("say think know believe hope suppose feel tell guess find notice hear".split())
_WH_WORDS = frozenset("what who where when why how which whose".split())
_GERUND_PREPOSITIONS = frozenset({"before", "after", "since"})
_WITH_COMMA = frozenset({"although"})


class Dependents(Modifiers):
    """Adverbials and clausal complements."""

    def _adverbial_edges(self, segment: tuple[Item, ...], group: VerbGroup) -> list[Edge]:
        edge = self.adverbial(segment, passive=group.passive)
        needs_comma = is_group(segment[0], "<") and (
            segment[0].items[0] in _WITH_COMMA or (segment[0].items[0] == "ing" and self.chance(0.9))
        )
        if needs_comma:
            return [Edge(comma(), "punct", "punct"), edge]
        return [edge]

    def adverbial(self, segment: tuple[Item, ...], passive: bool = False) -> Edge:
        """An adverbial segment with its relations: PP, ADVP, noun phrase of time or measure, or clause."""
        first = segment[0]
        if is_group(first, "<"):
            return self.adverbial_clause(first)
        if first in ("t:", "m:"):
            return self._nominal_adverbial(first, segment[1:])
        adverbs = self.adverb_segment(segment)
        if adverbs is not None:
            return Edge(adverbs, "neg" if segment == ("never",) else "advmod", "advmod")
        if first in lexicon().adverbs and segment[1] in PREPOSITIONS:
            edge = self.adverbial(segment[1:])
            edge.child.edges.insert(0, Edge(self.adverb(first), "advmod", "advmod"))
            edge.child.constructions += ("adverb on prepositional phrase",)
            return edge
        if first not in PREPOSITIONS:
            raise fault("cannot read this adverbial", segment)
        if len(segment) == 1:
            return self._stranded(first)
        if is_group(segment[1], "("):
            return Edge(self.gerund_phrase(first, segment[1]), "prep", "advcl")
        agent = passive and first == "by"
        node = prepositional_phrase(first, self.noun_phrase(segment[1:], "obl"))
        node.constructions = ("passive with by-phrase",) if agent else ("prepositional phrase on verb",)
        return Edge(node, "prep", "obl:agent" if agent else "obl")

    def _stranded(self, preposition: str) -> Edge:
        node = phrase("PP", word(preposition, preposition, "ADP", "IN"))
        if self.gap is None:
            raise fault("a preposition without its noun phrase outside a relative clause", (preposition,))
        self.stranded = node
        return Edge(node, "prep", "case", ud_to=self.gap)

    def _nominal_adverbial(self, kind: str, items: tuple[Item, ...]) -> Edge:
        if items[-1] in ("ago", "later", "earlier"):
            measure = self._not_mention(self.noun_phrase(items[:-1]))
            measure.entity_type = ""
            node = Node("ADVP", entity_type="DATE", constructions=(f"measure with {items[-1]}",))
            node.add(measure, "npadvmod", "obl:npmod").add(self.adverb(items[-1]), None, None)
            return Edge(node, "advmod", "advmod")
        self.elaborating, outside = False, self.elaborating
        node = self._not_mention(self.noun_phrase(items))
        self.elaborating = outside
        if kind == "m:":
            node.constructions += ("noun phrase of measure",)
            return Edge(node, "npadvmod", "obl:npmod")
        short = items[-1] in ("morning", "evening", "afternoon", "night")
        node.entity_type = "TIME" if short else "DATE"
        node.constructions += ("noun phrase of time",)
        return Edge(node, "tmod", "obl:tmod")

    def adverbial_clause(self, group: Group) -> Edge:
        """`<because S>`, `<to V>` (purpose), `<ing V>` and `<ed V>` (participles), `<while ing V>`."""
        kind, rest = group.items[0], group.items[1:]
        if kind in _GERUND_PREPOSITIONS and rest[0] == "ing":
            return Edge(self.gerund_phrase(kind, Group("(", rest)), "prep", "advcl")
        if kind == "to":
            return Edge(self._called(self.nonfinite(rest, "infinitive"), "purpose clause"), "advcl", "advcl")
        if kind in ("ing", "ed"):
            clause = self.nonfinite(rest, "gerund" if kind == "ing" else "participle")
            return Edge(self._called(clause, "participial adverbial"), "partmod", "advcl")
        node = Node("SBAR", constructions=(f"adverbial clause with {'so that' if kind == 'so' else kind}",))
        if kind == "when":
            when = phrase("WHADVP", word("when", "when", "ADV", "WRB"))
            node.add(when, "advmod", "advmod")
        else:
            subordinator = word_in(kind, group.items)
            node.add(word(subordinator, subordinator, "SCONJ", "IN"), "mark", "mark")
        if kind == "so":
            node.add(word("that", "that", "SCONJ", "IN"), "mark", "mark")
            rest = rest[1:]
        if rest[0] == "ing":
            return Edge(node.add(self.nonfinite(rest[1:], "gerund"), None, None), "advcl", "advcl")
        return Edge(node.add(self.finite(rest), None, None), "advcl", "advcl")

    def _called(self, node: Node, name: str) -> Node:
        node.constructions += (name,)
        return node

    def clause_complement(self, group: Group, verb: str = "", subject: bool = False) -> tuple[Node, str, str]:
        """A clause in round brackets with its relations as complement: ccomp with a subject in the clause, xcomp without."""
        kind, rest = group.items[0], group.items[1:]
        if kind == "not":
            kind, rest = rest[0], (kind, *rest[1:])
        if kind == "to":
            return self._called(self.nonfinite(rest, "infinitive"), "infinitive complement"), "xcomp", "xcomp"
        if kind == "ing":
            return self._called(self.nonfinite(rest, "gerund"), "gerund complement"), "xcomp", "xcomp"
        if kind in ("that", "whether", "if"):
            node = Node("SBAR", constructions=("that-clause" if kind == "that" else "indirect yes/no question",))
            if kind == "that" and not subject and verb in _THAT_DROPPERS and self.chance(0.4):
                node.constructions = ("that-clause without that",)
            else:
                node.add(word(kind, kind, "SCONJ", "IN"), "mark", "mark")
            return node.add(self.finite(rest), None, None), "ccomp", "ccomp"
        if kind in _WH_WORDS or kind in PREPOSITIONS:
            if len(split(group.items, ":")) == 1:
                node = self.relative_clause(group.items, False)
                node.constructions = ("indirect question on subject",)
            else:
                node = self.gapped("SBAR", *marker_and_content(group.items), "indirect question")
            return node, "ccomp", "ccomp"
        raise fault("cannot read this clause", group.items)

    def _not_mention(self, node: Node) -> Node:
        if node.reference is None:
            node.mention = ""
        return node

    def _kind(self, segment: tuple[Item, ...]) -> str:
        first = segment[0]
        if is_group(first, "("):
            return "CLAUSE"
        if is_group(first, "<"):
            return "ADVERBIAL"
        if first in ("t:", "m:", "^", "^^"):
            return "ADVERBIAL"
        if first in PREPOSITIONS and not self._approximates(segment):
            return "PP"
        words = lexicon()
        if len(segment) > 2 and first in words.adverbs and first not in words.adjectives and segment[1] in PREPOSITIONS:
            return "PP"
        if self.adverb_segment(segment) is not None and not (first in lexicon().nouns and len(segment) == 1):
            return "ADVP"
        if self.is_adjective_phrase(segment):
            return "ADJP"
        return "NP"

    def _approximates(self, segment: tuple[Item, ...]) -> bool:
        following = segment[1] if len(segment) > 1 else None
        if segment[0] == "as":
            return following in lexicon().adjectives
        return segment[0] in ("about", "around", "over") and (is_number(following) or str(following).startswith("$"))
