"""Wording of mentions: after a sentence is built, its placeholders become names, descriptions or pronouns, in order."""

from __future__ import annotations

import itertools

from sample_corpus.grammar.clauses import Clauses
from sample_corpus.lexicon import PRONOUNS
from sample_corpus.notation import parse
from sample_corpus.reference import ENTITY_TYPES, Entity, Reference, wording
from sample_corpus.structure import Edge, Node, comma, leaves, nodes, phrase, word

_CASES = {"nom": 0, "acc": 1, "obl": 1, "poss": 2}


_PLURAL_NAMES = frozenset(
    "Foods Bakeries Dairies Systems Industries Holdings Partners Works Metals Airlines Toys Games Drinks Restaurants "
    "Kitchens Electronics Technologies Devices".split()
)


class Mentions(Clauses):
    """Turns placeholders into words."""

    def word_mentions(self, root: Node) -> None:
        """Word every placeholder of a sentence from left to right, as the discourse so far demands."""
        for node in nodes(root):
            if node.reference is not None:
                self._word(node, node.reference)
        for leaf, following in itertools.pairwise(list(leaves(root))):
            if leaf.label == "PRP" and following.slots.pop("contractible", False):
                contraction = {"is": "'s", "are": "'re", "am": "'m", "have": "'ve", "has": "'s", "will": "'ll"}
                following.form = contraction[following.form]
                following.constructions += ("contraction",)

    def _word(self, node: Node, reference: Reference) -> None:
        node.reference = None
        discourse = self.discourse
        entity = discourse.entity(reference.entity)
        how = wording(entity, reference, discourse, self.rng)
        if how in ("I", "you", "pronoun"):
            self._pronoun(node, entity.pronoun if how == "pronoun" else how, reference, entity)
        elif how == "intro":
            self._introduce(node, entity, reference)
        elif how == "short":
            self._name(node, entity, entity.short, reference, self._short_title(entity))
        else:
            self._describe(node, f"the {entity.noun}", reference)
        if how not in ("I", "you"):
            if how == "pronoun":
                if entity.key not in discourse.current.entities:
                    discourse.pronoun_run[entity.key] = discourse.pronoun_run.get(entity.key, 0) + 1
            else:
                discourse.pronoun_run[entity.key] = 0
            discourse.note(entity, reference)

    def _pronoun(self, node: Node, lemma: str, reference: Reference, entity: Entity) -> None:
        node.mention_type = "pronoun"
        reflexive = reference.case == "acc" and reference.clause_subject == entity.key
        form = PRONOUNS[lemma][3 if reflexive else _CASES[reference.case]]
        tag = "PRP$" if reference.case == "poss" else "PRP"
        name = "reflexive pronoun" if reflexive else "possessive pronoun" if tag == "PRP$" else "pronoun"
        node.add(word(form, lemma, "PRON", tag), None, None)
        node.constructions += (name,)

    def _possessive(self, node: Node, reference: Reference) -> None:
        if reference.case == "poss":
            name = Node("NP", node.edges, entity_type=node.entity_type)
            node.edges, node.entity_type = [Edge(name, None, None)], ""
            last = list(leaves(node))[-1]
            ending = "'" if last.form.endswith("s") and (node.plural or last.label in ("NNS", "NNPS")) else "'s"
            node.add(word(ending, "'s", "PART", "POS"), "possessive", "case")
            node.constructions += ("possessive with 's",)

    def _short_title(self, entity: Entity) -> str:
        return entity.title if entity.title and self.chance(0.4 if entity.title.endswith(".") else 0.15) else ""

    def _name(self, node: Node, entity: Entity, words: tuple[str, ...], reference: Reference, title: str = "") -> None:
        """Name phrase of an entity; the possessive ending, if any, is added around it."""
        node.mention_type = "proper"
        name = name_phrase(entity, words)
        if title:
            titled = Node("NP", constructions=("title before name",))
            titled.add(word(title, title, "PROPN", "NNP"), "nn", "compound").add(name, None, None)
            name = titled
        self._take_over(node, name)
        self._possessive(node, reference)

    def _take_over(self, node: Node, content: Node) -> None:
        """Give a placeholder the words, constructions and entity type of `content`."""
        node.edges = list(content.edges)
        node.constructions += content.constructions
        if content.entity_type and not node.entity_type:
            node.entity_type = content.entity_type

    def _describe(self, node: Node, text: str, reference: Reference) -> None:
        node.mention_type = "nominal"
        self._take_over(node, self._description(text))
        self._possessive(node, reference)

    def _description(self, text: str) -> Node:
        self.elaborating, outside = False, self.elaborating
        content = self.noun_phrase(parse(text))
        self.elaborating = outside
        content.mention = ""
        return content

    def _introduce(self, node: Node, entity: Entity, reference: Reference) -> None:
        """First mention: a name with an apposition or title, or the first description."""
        if not entity.name:
            self.discourse.described.add(entity.key)
            self._describe(node, entity.intro, reference)
            return
        if not entity.intro:
            self.discourse.described.add(entity.key)
        bare = reference.plain or reference.case == "poss" or not entity.intro
        if bare or (entity.title and self.chance(0.5) and entity.key not in self.discourse.introduced):
            title = entity.title if entity.kind == "person" and entity.key not in self.discourse.introduced else ""
            words = entity.short if entity.key in self.discourse.introduced else entity.name
            self._name(node, entity, words, reference, title)
            return
        if (
            entity.kind == "person"
            and entity.intro.startswith(("a ", "an "))
            and "[" not in entity.intro
            and entity.key not in self.discourse.introduced
            and self.chance(0.35)
        ):
            self._named(node, entity)
            return
        self._name(node, entity, entity.short if entity.key in self.discourse.introduced else entity.name, reference)
        self.discourse.described.add(entity.key)
        inner = Node("NP", node.edges, entity_type=node.entity_type, constructions=node.constructions)
        node.entity_type = ""
        node.edges = [Edge(inner, None, None)]
        node.constructions = ("apposition on name",)
        apposition = self._description(entity.intro)
        node.add(comma(), "punct", "punct", ud_to=apposition)
        node.add(apposition, "appos", "appos")
        node.add(comma(soft=True), "punct", "punct", ud_to=apposition)

    def _named(self, node: Node, entity: Entity) -> None:
        """`a young fisherman named Tom Hale`."""
        node.mention_type = "nominal"
        self.discourse.described.add(entity.key)
        description = self._description(entity.intro)
        name = name_phrase(entity, entity.name)
        participle = word("named", "name", "VERB", "VBN")
        clause = phrase("S", phrase("VP", participle).add(name, "xcomp", "xcomp"), "noun named by participle")
        node.edges = [Edge(description, None, None), Edge(clause, "partmod", "acl")]


def name_phrase(entity: Entity, words: tuple[str, ...]) -> Node:
    """NP of a name. Names of persons are `flat` in UD (first word the head); SD takes the last word as the head.

    Names of organisations and places are compounds with the last word as head, and "University of X" is an ordinary
    noun phrase.
    """
    node = Node("NP", entity_type=ENTITY_TYPES.get(entity.kind, ""))
    if "of" in words:
        at = words.index("of")
        head = Node("NP")
        for form in words[:at]:
            leaf = word(form, form.lower(), "DET", "DT") if form == "the" else word(form, form, "PROPN", "NNP")
            head.add(leaf, "det" if form == "the" else None, "det" if form == "the" else None)
        rest = phrase("NP", word(words[at + 1], words[at + 1], "PROPN", "NNP"))
        pp = phrase("PP", word("of", "of", "ADP", "IN"))
        pp.edges[0].ud = "case"
        node.add(head, None, None)
        return node.add(pp.add(rest, "pobj", None), "prep", "nmod")
    for position, form in enumerate(words):
        last = position == len(words) - 1
        if form == "the":
            node.add(word(form, form, "DET", "DT"), "det", "det")
            continue
        leaf = word(form, form, "PROPN", "NNPS" if form in _PLURAL_NAMES else "NNP")
        if entity.kind == "person":
            node.add(leaf, None if last else "nn", None if position == 0 else "flat")
        else:
            node.add(leaf, None if last else "nn", None if last else "compound")
    if len(words) > 1:
        node.constructions = ("name of several words",)
    return node
