"""Noun phrases: determiners, possessors, numbers, adjectives, compounds, names, coordination, prepositional phrases."""

from __future__ import annotations

from dataclasses import replace

from sample_corpus.grammar.base import coordinate, fault, is_group
from sample_corpus.grammar.noun_words import NounWords, is_number
from sample_corpus.lexicon import DETERMINERS, INDEFINITE_PRONOUNS, PREPOSITIONS, PRONOUNS
from sample_corpus.reference import Reference
from sample_corpus.structure import Edge, Node, phrase, word

_CONJUNCTIONS = frozenset({"and", "or", "nor"})
_PRECONJUNCTIONS = {"both": "and", "either": "or", "neither": "nor"}
_OBJECT_FORMS = {form: lemma for lemma, forms in PRONOUNS.items() for form in forms[:2]}
_POSSESSIVE_FORMS = {forms[2]: lemma for lemma, forms in PRONOUNS.items()}
_FOCUS_ADVERBS = frozenset({"almost", "nearly", "only", "even", "just"})
_QUANTITIES = frozenset("number group pair couple kind sort amount rest part lives".split())
_SHARES = frozenset("most many half majority rest percent third".split())
_POSSESSIVE_RATE = 0.6
_ALONE = frozenset({"this", "that", "these", "those", "all", "some"})
_PARTITIVES = frozenset({"both", "some", "all", "each", "none", "any"})
_DATE_NOUNS = frozenset("day week month year decade century weekend season spring summer autumn winter".split())
_TIME_NOUNS = frozenset("second minute hour morning afternoon evening night moment".split())


class NounPhraseReader(NounWords):
    """Reads one segment left to right; prepositional phrases and modifiers attach to the nearest noun."""

    def read(self) -> Node:
        """The whole segment as one noun phrase."""
        node = self.coordination()
        if self.at != len(self.items):
            raise fault(f"cannot read {self.items[self.at]!r} as part of a noun phrase", self.items)
        return node

    def coordination(self) -> Node:
        """One noun phrase or several joined by and/or/nor, with both/either/neither before them."""
        preconjunction, first = None, self.peek()
        if isinstance(first, str) and first in _PRECONJUNCTIONS and _PRECONJUNCTIONS[first] in self.items[self.at :]:
            preconjunction = self.take_word()
        parts, conjunction = [self.simple()], ""
        while not conjunction and (self.peek() == "," or self.peek() in _CONJUNCTIONS):
            token = self.take_word()
            if token in _CONJUNCTIONS:
                conjunction = token
            elif self.peek() in _CONJUNCTIONS:
                conjunction = self.take_word()
            parts.append(self.simple())
        if len(parts) == 1:
            return parts[0]
        node = coordinate("NP", parts, conjunction, self.grammar.style.oxford_comma, "noun phrase coordination")
        node.plural = True if conjunction == "and" else parts[-1].plural
        if preconjunction:
            outer = Node("NP", plural=node.plural, constructions=("correlative conjunction",))
            outer.add(word(preconjunction, preconjunction, "CCONJ", "CC"), "preconj", "cc:preconj")
            return outer.add(node, None, None)
        return node

    def simple(self) -> Node:
        """A noun phrase with its modifiers to the right."""
        node = self.core()
        while self.peek() in ("'s", "'"):
            node = self.possessed(node)
        while True:
            item = self.peek()
            if is_group(item, "["):
                self.take()
                node = self.grammar.noun_modifier(node, item.items)
            elif isinstance(item, str) and item in PREPOSITIONS:
                node = self.with_prepositional_phrase(node)
            else:
                return node

    def with_prepositional_phrase(self, noun_phrase: Node) -> Node:
        """Noun phrase with a prepositional phrase attached to the noun."""
        preposition, following = self.take_word(), self.peek()
        if is_group(following, "("):
            self.take()
            pp = self.grammar.gerund_phrase(preposition, following)
            relation = "acl"
        else:
            inner = NounPhraseReader(self.grammar, self.items[self.at :], "obl", False)
            complement = inner.simple() if self.enumerates else inner.coordination()
            self.at += inner.at
            if preposition == "of" and self.may_own(complement, noun_phrase) and self.grammar.chance(_POSSESSIVE_RATE):
                return self.owned(complement, noun_phrase)
            if preposition == "of" and complement.reference is not None:
                complement.reference = replace(complement.reference, modified=True)
            pp = prepositional_phrase(preposition, complement)
            relation = "nmod"
        outer = lift(noun_phrase)
        outer.constructions = ("prepositional phrase on noun",)
        if preposition == "of" and list_last(noun_phrase) in _SHARES:
            outer.plural = complement.plural
        return outer.add(pp, "prep", relation)

    def may_own(self, owner: Node, possession: Node) -> bool:
        """Whether `the roof of Lopez` may become `Lopez 's roof`: a definite noun phrase and a person, group or animal
        without modifiers."""
        if not possession.edges or possession.edges[0].child.form != "the" or (self.case == "nom" and not self.subject):
            return False
        if (
            list_last(possession) in _QUANTITIES
            or possession.reference
            or any(edge.sd in ("num", "prep") for edge in possession.edges)
        ):
            return False
        if owner.reference is not None:
            entity = self.grammar.discourse.entity(owner.reference.entity)
            return entity.kind not in ("thing", "town", "country") and not entity.intro.count("[")
        if not owner.edges or owner.edges[0].sd not in ("det", "poss"):
            return False
        head = owner.edges[-1].child
        noun = self.words.nouns.get(head.form)
        return noun is not None and noun.kind in ("person", "group", "animal") and len(owner.edges) <= 2

    def owned(self, owner: Node, possession: Node) -> Node:
        """The noun phrase with the possessor in place of its article."""
        if owner.reference is not None:
            owner.reference = _replace_case(owner.reference)
        else:
            owner = self.marked(owner)
        possession.edges[0] = Edge(owner, "poss", "nmod:poss")
        possession.constructions += ("possessor for of-phrase",)
        return possession

    def possessed(self, possessor: Node) -> Node:
        """`possessor 's` and the noun phrase it determines."""
        self.take()
        if possessor.reference:
            possessor.reference = _replace_case(possessor.reference)
            return self.base(possessor)
        return self.base(self.marked(possessor))

    def marked(self, possessor: Node) -> Node:
        """A noun phrase with its possessive ending."""
        plural_form = list_last(possessor).endswith("s") and possessor.plural
        owner = Node("NP", plural=possessor.plural, constructions=("possessive with 's",))
        owner.mention, owner.mention_type = possessor.mention, possessor.mention_type
        possessor.mention = possessor.mention_type = ""
        owner.add(possessor, None, None)
        return owner.add(word("'" if plural_form else "'s", "'s", "PART", "POS"), "possessive", "case")

    def core(self) -> Node:
        """Entity reference, pronoun or noun with what stands before it."""
        token = self.peek()
        if not isinstance(token, str):
            raise fault("a noun phrase is missing", self.items)
        if token.startswith("@"):
            return self.entity(self.take_word()[1:])
        if (
            token in _FOCUS_ADVERBS
            and not self.approximates()
            and (
                self.peek(1) in DETERMINERS
                or self.peek(1) in INDEFINITE_PRONOUNS
                or is_number(self.peek(1))
                or str(self.peek(1)).startswith("$")
            )
        ):
            adverb = self.grammar.adverb(self.take_word())
            inner = lift(self.core())
            inner.constructions += ("adverb on noun phrase",)
            inner.edges.insert(0, Edge(adverb, "advmod", "advmod"))
            return inner
        if token in _OBJECT_FORMS and token not in _POSSESSIVE_FORMS:
            return self.pronoun(self.take_word())
        if token in INDEFINITE_PRONOUNS or (token in _ALONE and self.stands_alone()):
            form = self.take_word()
            upos, xpos = ("PRON", "NN") if form in INDEFINITE_PRONOUNS else ("PRON", "DT")
            node = phrase("NP", word(form, form, upos, xpos), "pronoun")
            node.plural = form in ("these", "those", "all", "some")
            return node
        if token in _PARTITIVES and self.peek(1) == "of":
            node = phrase("NP", word(self.take_word(), token, "PRON", "DT"), "partitive")
            node.plural = token not in ("each", "none")
            return node
        return self.base(None)

    def stands_alone(self) -> bool:
        """Whether the demonstrative in front is the whole noun phrase."""
        following = self.peek(1)
        return following is None or is_group(following, "[") or following in PREPOSITIONS

    def entity(self, key: str) -> Node:
        """Placeholder for a mention of a member of the cast; it is worded when the whole sentence is built.

        `key!` asks for a pronoun.
        """
        forced, key = key.endswith("!"), key.rstrip("!")
        grammar, frame = self.grammar, self.grammar.frame
        entity = grammar.discourse.entity(key)
        node = Node("NP", plural=entity.plural, mention=key)
        if key == frame.speaker:
            node.person = 1
        elif key == frame.addressee:
            node.person, node.plural = 2, True
        following = self.peek()
        node.reference = Reference(
            key,
            self.case,
            self.subject and self.at == 1,
            "" if self.subject else frame.subject,
            modified=following is not None or not _CONJUNCTIONS.isdisjoint(self.items),
            plain=following is not None,
            speaker=frame.speaker,
            addressee=frame.addressee,
            forced=forced,
        )
        return node

    def pronoun(self, form: str) -> Node:
        """A personal pronoun written in the line itself (generic "you", expletive and clausal "it")."""
        lemma = _OBJECT_FORMS[form]
        nominative, accusative = PRONOUNS[lemma][:2]
        shown = nominative if self.case == "nom" else accusative
        node = phrase("NP", word(shown, lemma, "PRON", "PRP"), "pronoun")
        self.refer_back(node, lemma)
        node.plural = lemma in ("we", "they", "you")
        node.person = {"I": 1, "we": 1, "you": 2}.get(lemma, 3)
        return node

    def refer_back(self, node: Node, lemma: str) -> None:
        """Make a third-person pronoun written in the line a mention of the subject of its clause."""
        antecedent = self.grammar.frame.antecedent
        if lemma not in ("he", "she", "it", "they") or antecedent is None:
            return
        member = self.grammar.discourse.cast.get(antecedent.mention)
        if antecedent.plural != (lemma == "they") or (member and member.pronoun != lemma):
            raise fault(f"the pronoun of {lemma!r} does not fit the subject of its clause", self.items)
        if not antecedent.mention:
            self.note(antecedent, "", False, "nominal")
        node.mention, node.mention_type = antecedent.mention, "pronoun"

    def base(self, possessor: Node | None) -> Node:
        """Determiner or possessor, numbers, adjectives, compound nouns and the head noun."""
        node = Node("NP")
        determiner = "possessive" if possessor else ""
        if possessor:
            node.add(possessor, "poss", "nmod:poss")
        else:
            if (self.peek() == "such" and self.peek(1) in ("a", "an")) or (
                self.peek() in ("all", "both")
                and (self.peek(1) in DETERMINERS or self.peek(1) in _POSSESSIVE_FORMS or _is_entity_possessor(self, 1))
            ):
                form = self.take_word()
                node.add(word(form, form, "DET", "PDT"), "predet", "det:predet")
                node.constructions += ("predeterminer",)
            token = self.peek()
            if isinstance(token, str) and token.startswith("@"):
                owner = self.entity(self.take_word()[1:])
                self.take()
                assert owner.reference is not None  # `entity` sets it
                owner.reference = _replace_case(owner.reference)
                node.add(owner, "poss", "nmod:poss")
                determiner = "possessive"
            elif token in _POSSESSIVE_FORMS:
                form = self.take_word()
                owner = phrase("NP", word(form, _POSSESSIVE_FORMS[form], "PRON", "PRP$"), "possessive pronoun")
                self.refer_back(owner, _POSSESSIVE_FORMS[form])
                node.add(owner, "poss", "nmod:poss")
                determiner = "possessive"
            elif token in DETERMINERS | {"both", "all"}:
                determiner = self.take_word()
                lemma = {"an": "a", "these": "this", "those": "that"}.get(determiner, determiner)
                node.add(word("a" if lemma == "a" else determiner, lemma, "DET", "DT"), "det", "det")
        self.numeral(node)
        if node.edges and node.edges[-1].sd is None:
            return self.finish(node, determiner, ())
        run = self.run()
        run = self.grammar.modified_run(run, determiner, any(edge.sd == "num" for edge in node.edges))
        self.premodifiers(node, run[:-1])
        head = self.noun(run[-1])
        node.add(head, None, None)
        node.plural = head.label in ("NNS", "NNPS") or run[-1] in ("few", "many", "several")
        return self.finish(node, determiner, run)

    def finish(self, node: Node, determiner: str, run: tuple[str, ...] | list[str]) -> Node:
        """Dates, quantities and names get their type; other noun phrases are noted as mentions."""
        if not run:
            return node
        if determiner in ("a", "an") and node.plural and run[0] != "few" and not any(edge.sd == "num" for edge in node.edges):
            raise fault(f"plural {run[-1]!r} after {determiner!r}", self.items)
        head = run[-1]
        kind = self.words.nouns[head].kind if head in self.words.nouns else self.words.proper.get(head, "")
        counted = any(edge.sd == "num" for edge in node.edges)
        lemma = self.words.nouns[head].lemma if head in self.words.nouns else head
        if kind in ("weekday", "month"):
            node.entity_type = "DATE"
            if kind == "month" and is_number(self.peek()):
                day = self.take_word()
                node.add(word(day, day, "NUM", "CD"), "num", "nummod")
        elif kind == "percent":
            self.retype(node, "PERCENT")
        elif counted and (kind == "measure" or lemma in _DATE_NOUNS | _TIME_NOUNS):
            self.retype(node, "QUANTITY" if kind == "measure" else "DATE" if lemma in _DATE_NOUNS else "TIME")
        elif kind in ("country", "region", "LOC"):
            node.entity_type = "GPE" if kind == "country" else "LOC"
            self.note(node, head, True, "proper")
        elif kind not in ("time", "measure", "weekday", "") and determiner not in ("no", "any", "every", "each"):
            key = " ".join(run)
            definite = determiner in ("the", "this", "that", "these", "those") and self.peek() not in PREPOSITIONS
            self.note(node, key, definite, "nominal")
            if len(run) > 1 and not definite:
                self.grammar.discourse.known_nouns[head] = node.mention
        return node

    def retype(self, node: Node, entity_type: str) -> None:
        """Give the whole phrase the type that its number had."""
        for edge in node.edges:
            if edge.sd == "num":
                edge.child.entity_type = ""
        node.entity_type = entity_type

    def note(self, node: Node, key: str, definite: bool, mention_type: str) -> None:
        """Make the phrase a mention of a discourse entity."""
        node.mention = self.grammar.discourse.note_noun(key, definite)
        node.mention_type = mention_type


def list_last(node: Node) -> str:
    """Form of the last word under a node ("" for a mention that is not worded yet)."""
    while node.edges:
        node = node.edges[-1].child
    return node.form


def lift(noun_phrase: Node) -> Node:
    """A larger noun phrase around `noun_phrase`; it takes over the mention, whose span grows with the modifiers.

    A mention that is not worded yet stays where it is: its name is the mention.
    """
    outer = Node("NP", plural=noun_phrase.plural, person=noun_phrase.person)
    if not noun_phrase.reference:
        outer.mention, outer.mention_type = noun_phrase.mention, noun_phrase.mention_type
        noun_phrase.mention = noun_phrase.mention_type = ""
    return outer.add(noun_phrase, None, None)


def prepositional_phrase(preposition: str, noun_phrase: Node) -> Node:
    """PP: SD makes the preposition the head, UD its noun phrase."""
    node = phrase("PP", word(preposition, preposition, "ADP", "IN"))
    node.edges[0].ud = "case"
    return node.add(noun_phrase, "pobj", None)


def _is_entity_possessor(reader: NounPhraseReader, ahead: int) -> bool:
    token = reader.peek(ahead)
    return isinstance(token, str) and token.startswith("@") and reader.peek(ahead + 1) in ("'s", "'")


def _replace_case(reference: Reference) -> Reference:
    return replace(reference, case="poss", subject=False, plain=True, modified=False)
