"""Words and phrases that modify: adjectives, adverbs, relative clauses, participles, appositions."""

from __future__ import annotations

from sample_corpus.grammar.base import adverb_phrase, coordinate, fault, is_group, word_in
from sample_corpus.grammar.elaboration import Elaboration
from sample_corpus.grammar.noun_phrases import NounPhraseReader, lift, prepositional_phrase
from sample_corpus.grammar.noun_words import is_number
from sample_corpus.lexicon import ADVERBIAL_PROFORMS, APPROXIMATORS, DETERMINERS, PREPOSITIONS, lexicon
from sample_corpus.notation import Group, Item, split
from sample_corpus.structure import Edge, Node, comma, phrase, word

_WH_TAGS = {
    "who": ("PRON", "WP"), "whom": ("PRON", "WP"), "what": ("PRON", "WP"), "which": ("PRON", "WDT"),
    "that": ("PRON", "WDT"), "where": ("ADV", "WRB"), "when": ("ADV", "WRB"), "why": ("ADV", "WRB"),
    "how": ("ADV", "WRB"), "whose": ("PRON", "WP$"),
}  # fmt: skip


class Modifiers(Elaboration):
    """Noun modifiers and the phrases of adjectives and adverbs.

    Inside a relative clause or question `gap` is the moved wh-phrase; `stranded` becomes the preposition it belongs to.
    """

    gap: Node | None = None
    stranded: Node | None = None

    def noun_phrase(self, items: tuple[Item, ...], case: str = "acc", subject: bool = False) -> Node:
        """A segment as a noun phrase; `case` is nom, acc or obl (after a preposition)."""
        return NounPhraseReader(self, items, case, subject).read()

    def adjective(self, form: str) -> Node:
        """An adjective, or a participle used as one."""
        entry = lexicon().adjectives[self.synonym("adjectives", form)]
        form = entry.form
        upos = "ADJ" if entry.xpos.startswith("JJ") else "VERB"
        leaf = word(form, entry.lemma, upos, entry.xpos)
        if form in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "tenth"):
            leaf.entity_type, leaf.constructions = "ORDINAL", ("ordinal number",)
        elif entry.xpos == "JJR":
            leaf.constructions = ("comparative",)
        elif entry.xpos == "JJS":
            leaf.constructions = ("superlative",)
        elif upos == "VERB":
            leaf.constructions = ("participle as adjective",)
        return leaf

    def adverb(self, form: str) -> Node:
        """An adverb as a leaf."""
        lemma, xpos = lexicon().adverbs[form]
        return word(form, lemma, "ADV", xpos)

    def is_adjective_phrase(self, items: tuple[Item, ...]) -> bool:
        """Whether a predicate segment is headed by an adjective (its run of words ends in one)."""
        words, last = lexicon(), None
        if items[0] in DETERMINERS:
            return False
        measured = len(items) > 2 and items[0] in APPROXIMATORS and is_number(items[1])
        for item in items[1:] if measured else items:
            if not isinstance(item, str) or (item in PREPOSITIONS and item != "as"):
                break
            if last is not None and item == "as":
                break
            last = item
        return last in words.adjectives and not (last in words.nouns and words.nouns[last].plural)

    def adjective_phrase(self, items: tuple[Item, ...]) -> Node:
        """ADJP: measure, adverbs, adjective(s), then a prepositional phrase or clause as complement."""
        words, node, at = lexicon(), Node("ADJP"), 0
        if items[0] in ("both", "either", "neither"):
            node.add(word(items[0], items[0], "CCONJ", "CC"), "preconj", "cc:preconj")
            node.constructions += ("correlative conjunction",)
            items = items[1:]
        if is_number(items[0]) or (items[0] in APPROXIMATORS and is_number(items[1])):
            at = 1
            while is_number(items[at]):
                at += 1
            at += 1
            node.add(self.noun_phrase(items[:at]), "npadvmod", "obl:npmod")
            node.constructions += ("measure on adjective",)
        adverbs = []
        while items[at] not in words.adjectives or (
            items[at] in words.adverbs and at + 1 < len(items) and items[at + 1] in words.adjectives
        ):
            form = word_in(items[at], items)
            adverbs.append(word("as", "as", "ADV", "RB") if form == "as" else self.adverb(form))
            at += 1
        if not adverbs and not node.edges:
            degree = self.degree(word_in(items[at], items))
            adverbs = [self.adverb(degree)] if degree else []
        if adverbs:
            node.add(adverbs[0] if len(adverbs) == 1 else adverb_phrase(*adverbs), "advmod", "advmod")
            node.constructions += ("adverb on adjective",)
        adjectives = [self.adjective(word_in(items[at], items))]
        at += 1
        conjunction = ""
        while not conjunction and at + 1 < len(items) and items[at] in (",", "and", "but", "or", "nor"):
            conjunction = "" if items[at] == "," else word_in(items[at], items)
            adjectives.append(self.adjective(word_in(items[at + 1], items)))
            at += 2
        head = adjectives[0]
        if conjunction:
            head = coordinate("ADJP", adjectives, conjunction, self.style.oxford_comma, "adjective coordination")
        node.add(head, None, None)
        if at < len(items):
            self._adjective_complement(node, items[at:])
        return node

    def _adjective_complement(self, node: Node, items: tuple[Item, ...]) -> None:
        if is_group(items[0], "("):
            clause, sd, ud = self.clause_complement(items[0])
            node.constructions += ("clause on adjective",)
            node.add(clause, sd, ud)
        elif isinstance(items[0], str) and (items[0] in PREPOSITIONS or items[0] == "as"):
            if is_group(items[1], "("):
                node.add(self.gerund_phrase(items[0], items[1]), "prep", "advcl")
            else:
                pp = prepositional_phrase(items[0], self.noun_phrase(items[1:], "obl"))
                pp.constructions = {"than": ("comparison with than",), "as": ("comparison with as",)}.get(items[0], ())
                node.add(pp, "prep", "obl")
        else:
            raise fault("cannot read the complement of the adjective", items)

    def gerund_phrase(self, preposition: str, group: Group) -> Node:
        """A preposition with a gerund clause: SD pcomp under the preposition, UD a clause marked by it."""
        pp = phrase("PP", word(preposition, preposition, "SCONJ", "IN"), "preposition with gerund")
        pp.edges[0].ud = "mark"
        if group.items[0] == "ing":
            clause = self.nonfinite(group.items[1:], "gerund")
        else:
            clause, _, _ = self.clause_complement(group)
        return pp.add(clause, "pcomp", None)

    def noun_modifier(self, noun_phrase: Node, items: tuple[Item, ...]) -> Node:
        """A bracketed modifier after the noun; the first word says which kind (see notation.py)."""
        nonrestrictive = items[0] == ","
        if nonrestrictive:
            items = items[1:]
        outer, kind, rest = lift(noun_phrase), items[0], items[1:]
        antecedent = noun_phrase.mention if noun_phrase.reference else ""
        opening = Edge(comma(), "punct", "punct")
        if nonrestrictive or kind == "=":
            outer.edges.append(opening)
        if kind == "=":
            apposition = self.noun_phrase(rest)
            apposition.mention = ""
            outer.constructions = ("apposition",)
            outer.add(apposition, "appos", "appos")
        elif kind == "paren":
            inner = self.noun_phrase(rest)
            inner.mention = ""
            brackets = phrase("PRN", inner, "parenthesis")
            brackets.edges.insert(0, Node("X").add(word("(", "(", "PUNCT", "-LRB-"), "punct", "punct").edges[0])
            brackets.add(word(")", ")", "PUNCT", "-RRB-"), "punct", "punct")
            outer.add(brackets, "appos", "appos")
        elif kind == "adj":
            outer.constructions = ("adjective phrase after noun",)
            self.elaborating, outside = False, self.elaborating
            outer.add(self.adjective_phrase(rest), "amod", "amod")
            self.elaborating = outside
        else:
            with self.within(subject=antecedent, antecedent=outer if outer.mention else noun_phrase):
                self._clausal_modifier(outer, kind, rest, items)
        if nonrestrictive or kind == "=":
            modifier = opening.ud_to = outer.edges[-1].child
            outer.add(comma(soft=True), "punct", "punct", ud_to=modifier)
        return outer

    def _clausal_modifier(self, outer: Node, kind: Item, rest: tuple[Item, ...], items: tuple[Item, ...]) -> None:
        if kind == "to":
            outer.constructions = ("infinitive after noun",)
            outer.add(self.nonfinite(rest, "infinitive"), "infmod", "acl")
        elif kind in ("ing", "ed"):
            form = "gerund" if kind == "ing" else "participle"
            outer.constructions = (f"{'present' if kind == 'ing' else 'past'} participle after noun",)
            outer.add(self.nonfinite(rest, form), "partmod", "acl")
        elif kind == "comp":
            clause = phrase("SBAR", self.finite(rest))
            mark = Node("X").add(word("that", "that", "SCONJ", "IN"), "mark", "mark")
            clause.edges.insert(0, mark.edges[0])
            outer.constructions = ("that-clause on noun",)
            outer.add(clause, "ccomp", "acl")
        else:
            outer.add(self.relative_clause(items, outer.plural), "rcmod", "acl:relcl")

    def relative_clause(self, items: tuple[Item, ...], plural: bool) -> Node:
        """SBAR with a relative word; `wh : subject | verb` has a gap, `wh | verb` makes the relative word the subject."""
        parts = split(items, ":")
        if len(parts) == 1:
            segments = split(items, "|")
            relative, noun_plural = self._relative_phrase(segments[0])
            clause = self.predicate(segments[1:], plural if noun_plural is None else noun_plural)
            node = Node("SBAR", constructions=("subject relative clause", f"relative {segments[0][0]}"))
            suffix = clause.subject_suffix
            node.add(relative, f"nsubj{suffix}", f"nsubj{':' if suffix else ''}{suffix}")
            return node.add(phrase("S", clause.node), None, None)
        marker, content = parts
        if not marker:
            return phrase("SBAR", self.finite(content), "reduced relative clause")
        return self.gapped("SBAR", marker, content, "relative clause")

    def gapped(self, label: str, marker: tuple[Item, ...], content: tuple[Item, ...], name: str) -> Node:
        """A clause whose first phrase is a wh-phrase that belongs further down: object, adverb, or after a stranded
        preposition."""
        node = Node(label)
        if marker[0] in PREPOSITIONS:
            inner, _ = self._relative_phrase(marker[1:])
            moved, sd, ud = prepositional_phrase(marker[0], inner), "prep", "obl"
            moved.label = "WHPP"
            node.constructions = (f"{name} with preposition in front",)
        else:
            moved, _ = self._relative_phrase(marker)
            sd, ud = ("advmod", "advmod") if moved.label == "WHADVP" else ("dobj", "obj")
            node.constructions = (f"{name} with {'adverb' if sd == 'advmod' else 'object'} gap",)
        outside, self.gap = self.gap, moved
        self.stranded = None
        clause = self.inverted(content) if label == "SBARQ" else self.finite(content)
        self.gap = outside
        if self.stranded is not None:
            node.add(moved, "pobj", "obl", sd_to=self.stranded)
            node.constructions = ("stranded preposition",)
            self.stranded = None
        else:
            node.add(moved, sd, ud)
        return node.add(clause, None, None)

    def _relative_phrase(self, items: tuple[Item, ...]) -> tuple[Node, bool | None]:
        """The wh-phrase and, where it contains a noun, whether that noun is plural."""
        first = items[0]
        if first not in _WH_TAGS:
            raise fault(f"{first!r} does not start a relative or wh-clause", items)
        upos, xpos = _WH_TAGS[first]
        leaf = word(first, first, upos, xpos)
        if len(items) == 1:
            return phrase("WHADVP" if xpos == "WRB" else "WHNP", leaf), None
        node = Node("WHNP")
        if first == "whose":
            node.add(phrase("WHNP", leaf), "poss", "nmod:poss")
            node.constructions = ("whose",)
        elif first == "how":
            quantity = Node("ADJP").add(leaf, "advmod", "advmod").add(self.adjective(word_in(items[1], items)), None, None)
            if len(items) == 2:
                quantity.label = "WHADJP"
                return quantity, None
            node.add(quantity, "amod", "amod")
            items = items[1:]
        else:
            leaf.upos, leaf.label = "DET", "WDT"
            node.add(leaf, "det", "det")
        noun = self.noun_phrase(items[1:])
        for edge in noun.edges:
            node.edges.append(edge)
        return node, noun.plural

    def adverb_segment(self, items: tuple[Item, ...]) -> Node | None:
        """ADVP when all words of a segment are adverbs, else None."""
        words = lexicon()
        forms = [item for item in items if isinstance(item, str) and (item in words.adverbs or item in ADVERBIAL_PROFORMS)]
        if len(forms) < len(items):
            return None
        return adverb_phrase(*(self.adverb(form) if form in words.adverbs else word(form, form, "ADV", "RB") for form in forms))
