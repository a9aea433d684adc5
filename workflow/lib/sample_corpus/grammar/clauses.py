"""Clauses: subjects, complements, adverbials, voice, coordination, questions, imperatives."""

from __future__ import annotations

from sample_corpus.grammar.base import Predicate, coordinate, fault, group_in, is_group, marker_and_content
from sample_corpus.grammar.dependents import Dependents
from sample_corpus.grammar.verb_groups import VerbGroup, VerbGroups, read_verb_group
from sample_corpus.lexicon import LINKING_VERBS, find_verb
from sample_corpus.notation import Item, split
from sample_corpus.structure import Edge, Node, comma, nodes, phrase, word

_JOINTS = (";and", ";but", ";so", ";or", ";")


class Clauses(Dependents, VerbGroups):
    """Everything that has a verb."""

    narrating = False

    def sentence(self, items: tuple[Item, ...]) -> Node:
        """One sentence without its full stop: a clause or several joined by ;and ;but ;so or a semicolon."""
        for joint in _JOINTS:
            if joint in items:
                first_clause = self.sentence(items[: items.index(joint)])
                self.narrating = False
                return self._joined(first_clause, joint[1:], self.sentence(items[items.index(joint) + 1 :]))
        return self.finite(items, fronting=True)

    def _joined(self, first_clause: Node, conjunction: str, second_clause: Node) -> Node:
        node = phrase("S", first_clause, "clause coordination" if conjunction else "semicolon")
        if not conjunction:
            node.add(word(";", ";", "PUNCT", ":"), "punct", "punct")
            return node.add(second_clause, "parataxis", "parataxis")
        node.add(comma(), "punct", "punct", ud_to=second_clause)
        node.add(word(conjunction, conjunction, "CCONJ", "CC"), "cc", "cc", ud_to=second_clause)
        return node.add(second_clause, "conj", "conj")

    def finite(self, items: tuple[Item, ...], fronting: bool = False) -> Node:
        """S with subject and finite predicate; `^` segments may move to the front of a main clause."""
        verb_phrases = split(items, "&&")
        segments = self._with_options_drawn(split(verb_phrases[0], "|"))
        front, body = self._fronted(segments, fronting)
        if len(body) < 2:
            raise fault("a clause needs a subject and a verb", items)
        subject_items, verb_items, rest = body[0], body[1], body[2:]
        group = read_verb_group(verb_items)
        if group.may_passivise and len(verb_phrases) == 1 and self._prefers_passive(subject_items, rest):
            group.passive = True
            rest = [("by", *subject_items), *rest[1:]]
            subject_items = body[2]
            group.may_passivise = False
        node = Node("S")
        key = self._subject_key(subject_items)
        opening = self.opening(items) if fronting and not front and self._tells_event(group, body) else None
        if opening:
            edge = self.adverbial(opening)
            for inner in nodes(edge.child):
                inner.mention = ""
            edge.child.constructions += ("opening adverbial",)
            node.edges.append(edge)
            node.add(comma(), "punct", "punct")
        before = [self.adverbial(segment) for segment in front]
        for edge in before:
            node.edges.append(edge)
            node.add(comma(), "punct", "punct")
            node.constructions += ("fronted adverbial",)
        with self.within(subject=key, antecedent=None):
            self._complete(node, subject_items, group, rest, verb_phrases[1:])
        return node

    def _complete(
        self,
        node: Node,
        subject_items: tuple[Item, ...],
        group: VerbGroup,
        rest: list[tuple[Item, ...]],
        more: list[tuple[Item, ...]],
    ) -> None:
        """Add subject and verb phrase; `more` are the further verb phrases of the same subject."""
        if subject_items == ("there",):
            complements = self.complements(rest, group, existential=True)
            existing = next(edge for edge in complements if edge.sd == "dobj")
            existing.sd, existing.ud = "nsubj", "nsubj"
            verb = self.verb_phrase(group, "finite", complements, existing.child.plural, 3)
            node.constructions += ("existential there",)
            node.add(phrase("NP", word("there", "there", "PRON", "EX")), "expl", "expl").add(verb, None, None)
            return
        subject, sd, ud = self.subject(subject_items)
        extraposed = subject_items == ("it!",)
        with self.within(antecedent=subject if sd == "nsubj" and not extraposed else None):
            predicate = self._predicate_of(group, rest, subject.plural, subject.person, extraposed=extraposed)
            more_predicates = [self._further(part, group, subject) for part in more]
        verb = predicate.node
        if more_predicates:
            verb = coordinate("VP", [verb, *more_predicates], "and", self.style.oxford_comma, "verb phrase coordination")
        if predicate.subject_suffix:
            sd, ud = sd + "pass", ud + ":pass" if ud != "expl" else ud
        node.add(subject, sd, ud).add(verb, None, None)

    def _further(self, items: tuple[Item, ...], first: VerbGroup, subject: Node) -> Node:
        """A further verb phrase of the same subject; it takes over modality and perfect of the first."""
        segments = self._with_options_drawn(split(items, "|"))
        group = read_verb_group(segments[0])
        group.modal, group.perfect = group.modal or first.modal, group.perfect or first.perfect
        group.tense = group.tense or first.tense
        return self._predicate_of(group, segments[1:], subject.plural, subject.person).node

    def _with_options_drawn(self, segments: list[tuple[Item, ...]]) -> list[tuple[Item, ...]]:
        """The segments of a clause; each optional one (`?`) is dropped half of the time."""
        drawn = []
        for segment in segments:
            if segment and segment[0] == "?":
                if self.chance(0.5):
                    continue
                segment = segment[1:]
            drawn.append(segment)
        return drawn

    def _fronted(
        self, segments: list[tuple[Item, ...]], fronting: bool
    ) -> tuple[list[tuple[Item, ...]], list[tuple[Item, ...]]]:
        """The segments before the subject, and the others in order."""
        front: list[tuple[Item, ...]] = []
        body: list[tuple[Item, ...]] = []
        postponed: list[tuple[Item, ...]] = []
        moved = False
        for segment in segments:
            if segment[0] == "^^":
                front.append(segment[1:])
            elif segment[0] == "^":
                if fronting and not moved and not front and self.chance(0.4):
                    front.append(segment[1:])
                    moved = True
                else:
                    (body if body else postponed).append(segment[1:])
            else:
                body.append(segment)
        return front, body + postponed

    def _subject_key(self, items: tuple[Item, ...]) -> str:
        return items[0][1:] if len(items) == 1 and isinstance(items[0], str) and items[0].startswith("@") else ""

    def _tells_event(self, group: VerbGroup, segments: list[tuple[Item, ...]]) -> bool:
        """Whether an opening adverbial fits: an event of the narrative, neither speech nor the first line."""
        verb = find_verb(group.lemma)
        return (
            verb.roles[0] == "agent"
            and group.lemma not in LINKING_VERBS
            and not (group.modal or group.passive or group.perfect or group.negated or group.adverbs or group.tense)
            and not is_group(segments[0][0], "(")
            and self.discourse.sentence > 0
            and self.narrating
        )

    def _prefers_passive(self, subject: tuple[Item, ...], rest: list[tuple[Item, ...]]) -> bool:
        """Passive where the agent is not the topic and an object stands first among the complements."""
        key = self._subject_key(subject)
        recent = self.discourse.previous.entities.keys() | self.discourse.current.entities.keys()
        if key and (key in recent or key in (self.frame.speaker, self.frame.addressee)):
            return False
        return bool(rest) and self._is_noun_phrase(rest[0]) and self.chance(0.45)

    def _is_noun_phrase(self, segment: tuple[Item, ...]) -> bool:
        first = segment[0]
        return isinstance(first, str) and first not in ("t:", "m:") and self._kind(segment) == "NP"

    def subject(self, items: tuple[Item, ...]) -> tuple[Node, str, str]:
        """The subject with its relations in SD and UD."""
        if items == ("it!",):
            node = phrase("NP", word("it", "it", "PRON", "PRP"), "expletive it")
            return node, "nsubj", "expl"
        if is_group(items[0], "("):
            clause, _, _ = self.clause_complement(items[0], subject=True)
            clause.constructions += ("clause as subject",)
            return clause, "csubj", "csubj"
        return self.noun_phrase(items, "nom", True), "nsubj", "nsubj"

    def predicate(self, segments: list[tuple[Item, ...]], plural: bool, person: int = 3, form: str = "finite") -> Predicate:
        """Predicate from its verb segment and complements."""
        return self._predicate_of(read_verb_group(segments[0]), segments[1:], plural, person, form)

    def _predicate_of(
        self,
        group: VerbGroup,
        rest: list[tuple[Item, ...]],
        plural: bool,
        person: int = 3,
        form: str = "finite",
        extraposed: bool = False,
    ) -> Predicate:
        self._vary(group, form, any(self.adverb_segment(segment) is not None for segment in rest if segment))
        complements = self.complements(rest, group, extraposed)
        node = self.verb_phrase(group, form, complements, plural, person)
        return Predicate(node, "pass" if group.passive else "")

    def _vary(self, group: VerbGroup, form: str, has_adverb: bool) -> None:
        """Near-synonyms and adverbs of manner; not for verbs with a particle or an adverb."""
        if group.particle or group.negated or form in ("question", "base"):
            return
        if form == "finite" and not (group.adverbs or has_adverb or group.modal or group.progressive):
            adverb = self.manner(group.lemma)
            group.adverbs = [adverb] if adverb else []
        group.lemma = self.synonym("verbs", group.lemma)

    def nonfinite(self, items: tuple[Item, ...], form: str) -> Node:
        """S of an infinitive ("to" added), gerund or past participle, possibly with several verb phrases."""
        phrases = []
        for part in split(items, "&&"):
            group, rest = self._verb_and_rest(part)
            phrases.append(self._predicate_of(group, rest, False, 3, form).node)
        node = phrases[0]
        if len(phrases) > 1:
            node = coordinate("VP", phrases, "and", self.style.oxford_comma, "verb phrase coordination")
        return phrase("S", node)

    def _verb_and_rest(self, items: tuple[Item, ...]) -> tuple[VerbGroup, list[tuple[Item, ...]]]:
        segments = [s[1:] if s[0] == "^" else s for s in self._with_options_drawn(split(items, "|"))]
        return read_verb_group(segments[0]), segments[1:]

    def imperative(self, items: tuple[Item, ...]) -> Node:
        """S without subject."""
        group, rest = self._verb_and_rest(items)
        return phrase("S", self._predicate_of(group, rest, True, 2, "base").node, "imperative")

    def inverted(self, items: tuple[Item, ...]) -> Node:
        """SQ: the first auxiliary or the copula before the subject."""
        segments = [s[1:] if s[0] == "^" else s for s in self._with_options_drawn(split(items, "|"))]
        with self.within(subject=self._subject_key(segments[0])):
            subject, sd, ud = self.subject(segments[0])
            group = read_verb_group(segments[1])
            predicate = self._predicate_of(group, segments[2:], subject.plural, subject.person, "question")
        edges = predicate.node.edges
        if predicate.subject_suffix:
            sd, ud = "nsubjpass", "nsubj:pass"
        node = Node("SQ", constructions=("question", *predicate.node.constructions))
        contracted = 2 if len(edges) > 1 and edges[1].child.form == "n't" else 1
        node.edges = [*edges[:contracted], Edge(subject, sd, ud), *edges[contracted:]]
        return node

    def wh_question(self, items: tuple[Item, ...]) -> Node:
        """SBARQ: `what : subject | verb` or `who | verb`."""
        if ":" in items:
            return self.gapped("SBARQ", *marker_and_content(items), "wh-question")
        segments = split(items, "|")
        leaf, noun_plural = self._relative_phrase(segments[0])
        predicate = self.predicate(segments[1:], bool(noun_plural))
        node = Node("SBARQ", constructions=("question", "wh-question on subject"))
        suffix = predicate.subject_suffix
        node.add(leaf, "nsubj" + suffix, "nsubj:pass" if suffix else "nsubj")
        return node.add(phrase("SQ", predicate.node), None, None)

    def complements(
        self, segments: list[tuple[Item, ...]], group: VerbGroup, extraposed: bool = False, existential: bool = False
    ) -> list[Edge]:
        """Everything after the verb, in order, with relations."""
        segments = [segment for segment in segments if segment]
        if group.recipient and len(segments) > 1 and self._is_noun_phrase(segments[1]):
            theme_known = self._subject_key(segments[1])
            if theme_known or self.chance(0.5):
                segments = [segments[1], ("to", *segments[0]), *segments[2:]]
        edges: list[Edge] = []
        nominals = sum(self._is_noun_phrase(segment) for segment in segments)
        predicate_open = group.lemma == "be" and not group.passive and not existential
        linking = group.lemma in LINKING_VERBS and not group.passive
        objects = 0
        for segment in segments:
            kind = self._kind(segment)
            if predicate_open and kind in ("NP", "ADJP", "PP", "ADVP"):
                edges.append(self._predicative(segment, kind))
                predicate_open = False
            elif kind == "NP":
                objects += 1
                if linking:
                    edges.append(Edge(self._not_mention(self.noun_phrase(segment)), "xcomp", "xcomp"))
                elif nominals > 1 and objects == 1:
                    edges.append(Edge(self.noun_phrase(segment), "iobj", "iobj"))
                else:
                    edges.append(Edge(self.noun_phrase(segment), "dobj", "obj"))
            elif kind == "ADJP":
                edges.append(Edge(self.adjective_phrase(segment), "acomp", "xcomp"))
            elif kind == "CLAUSE":
                with self.within(subject="" if objects else self.frame.subject):
                    clause, sd, ud = self.clause_complement(group_in(segment[0], segment), group.lemma)
                edges.append(Edge(clause, sd, "csubj" if extraposed else ud))
                if extraposed:
                    clause.constructions += ("extraposition",)
            else:
                edges += self._adverbial_edges(segment, group)
        return edges

    def _predicative(self, segment: tuple[Item, ...], kind: str) -> Edge:
        if kind == "ADJP":
            return Edge(phrase("ADJP", self.adjective_phrase(segment), "copula with adjective"), None, None)
        if kind == "NP":
            nominal = self._not_mention(self.noun_phrase(segment))
            return (
                Edge(phrase("NP", nominal, "copula with noun"), None, None)
                if nominal.reference
                else self._construed(nominal, "copula with noun")
            )
        edge = self.adverbial(segment)
        edge.child.constructions += ("copula with prepositional phrase" if kind == "PP" else "copula with adverb",)
        return Edge(edge.child, edge.sd, None)

    def _construed(self, node: Node, name: str) -> Edge:
        node.constructions += (name,)
        return Edge(node, None, None)
