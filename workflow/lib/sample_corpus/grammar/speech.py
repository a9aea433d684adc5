"""Speech: the same content as quotation (several orders) or as a dependent clause with tenses shifted back."""

from __future__ import annotations

from sample_corpus.grammar.base import fault, marker_and_content, word_in
from sample_corpus.grammar.mentions import Mentions
from sample_corpus.lexicon import collocations
from sample_corpus.notation import Item, parse, split
from sample_corpus.structure import Node, comma, word

_SAY = ("say", "say", "say", "say", "explain")
_ANSWER = ("answer", "reply", "say")
_TERMINALS = {"question": "?", "statement": ".", "imperative": "."}


class English(Mentions):
    """The whole grammar: writes English sentences, with every gold layer in their structure, from lines of the notation.

    This family are sentences that report what someone says, asks or tells; `follows_question` is True after a question.
    """

    follows_question = False

    def statement(self, speaker: str, content: tuple[Item, ...], direct: float = 0.5) -> Node:
        """`Lopez said that the bridge was safe.` or the same as a quotation."""
        verb = self.rng.choice(_ANSWER if self.follows_question else _SAY)
        if self.chance(direct):
            with self.within(speaker=speaker[1:], tense="pres", shifted=False):
                quoted = self.sentence(content)
            return self._quotation(quoted, speaker, verb, "statement")
        with self.within(subject=speaker[1:]):
            circumstance = self._circumstance()
            node = self._attribution(speaker, verb, circumstance)
            if len(self._parts(content)) == 1 and verb == "say" and not circumstance and self.chance(0.4):
                clause = Node("SBAR", constructions=("indirect speech", "that-clause without that"))
            else:
                clause = Node("SBAR", constructions=("indirect speech", "that-clause"))
                clause.add(word("that", "that", "SCONJ", "IN"), "mark", "mark")
            with self.within(tense="pres", shifted=self.frame.tense == "past"):
                clause.add(self.sentence(content), None, None)
        node.edges[-1].child.add(clause, "ccomp", "ccomp")
        return self._closed(node, ".")

    def question(self, speaker: str, addressee: str | None, content: tuple[Item, ...], direct: float = 0.6) -> Node:
        """`"Where is the key?" asked Tom.` or `Tom asked where the key was.`"""
        wh = content[0] != "whether"
        rest = content if wh else content[1:]
        if self.chance(direct):
            with self.within(speaker=speaker[1:], addressee=(addressee or "@")[1:], tense="pres", shifted=False):
                quoted = self.wh_question(rest) if wh else self.inverted(rest)
            return self._quotation(quoted, speaker, "ask", "question")
        with self.within(subject=speaker[1:]):
            node = self._attribution(speaker, "ask", [(addressee,)] if addressee else self._circumstance())
            with self.within(tense="pres", shifted=self.frame.tense == "past"):
                if wh and len(split(rest, ":")) == 1:
                    clause = self.relative_clause(rest, False)
                    clause.constructions = ("indirect question on subject",)
                elif wh:
                    clause = self.gapped("SBAR", *marker_and_content(rest), "indirect question")
                else:
                    mark = self.rng.choice(("whether", "if"))
                    clause = Node("SBAR", constructions=("indirect yes/no question",))
                    clause.add(word(mark, mark, "SCONJ", "IN"), "mark", "mark").add(self.finite(rest), None, None)
        node.edges[-1].child.add(clause, "ccomp", "ccomp")
        return self._closed(node, ".")

    def command(self, speaker: str, addressee: str, content: tuple[Item, ...], direct: float = 0.6) -> Node:
        """`"Close the gate," said Tom.` or `Tom told Anna to close the gate.`"""
        if self.chance(direct):
            with self.within(speaker=speaker[1:], addressee=addressee[1:], tense="pres", subject=addressee[1:]):
                quoted = self.imperative(content)
            return self._quotation(quoted, speaker, "say", "imperative")
        with self.within(subject=speaker[1:]):
            node = self._attribution(speaker, self.rng.choice(("tell", "ask", "tell")), [(addressee,)])
        with self.within(subject=addressee[1:]):
            clause = self.nonfinite(content, "infinitive")
        clause.constructions += ("command as infinitive",)
        node.edges[-1].child.add(clause, "xcomp", "xcomp")
        return self._closed(node, ".")

    def _parts(self, content: tuple[Item, ...]) -> list[tuple[Item, ...]]:
        return split(content, ";and")

    def _circumstance(self) -> list[tuple[Item, ...]]:
        """Place or manner of speaking, sometimes: `in an interview`, `with a smile`."""
        options = collocations().attributions[self.discourse.domain]
        return [parse(self.rng.choice(options))] if self.chance(0.4) else []

    def _attribution(self, speaker: str, verb: str, complements: list[tuple[Item, ...]]) -> Node:
        """S of speaker and verb (its VP is the last child), the clause still to come."""
        subject = self.noun_phrase((speaker,), "nom", True)
        predicate = self.predicate([(verb,), *complements], False)
        return Node("S").add(subject, "nsubj", "nsubj").add(predicate.node, None, None)

    def _quotation(self, quoted: Node, speaker: str, verb: str, kind: str) -> Node:
        """Quotation first (with the attribution inverted or not), or attribution first."""
        quoted.capital = True
        quoted.constructions += ("direct speech",)
        terminal = _TERMINALS[kind]
        opening, closing = word('"', '"', "PUNCT", "``"), word('"', '"', "PUNCT", "''")
        subject = self.noun_phrase((speaker,), "nom", True)
        inverted = not self._will_be_pronoun(subject) and self.chance(0.6)
        circumstance = [] if inverted else self._circumstance()
        reporting = self.predicate([(verb,), *circumstance], False).node
        if not inverted and kind == "statement" and self.chance(0.35):
            node = Node("S", constructions=("attribution before quotation",)).add(subject, "nsubj", "nsubj")
            reporting.add(comma(), "punct", "punct")
            reporting.add(opening, "punct", "punct", quoted, quoted).add(quoted, "ccomp", "ccomp")
            node.add(reporting, None, None)
            node.add(word(terminal, terminal, "PUNCT", "."), "punct", "punct")
            return node.add(closing, "punct", "punct", quoted, quoted)
        node = Node("S").add(opening, "punct", "punct", quoted, quoted).add(quoted, "ccomp", "ccomp")
        mark = comma() if terminal == "." else word(terminal, terminal, "PUNCT", ".")
        node.add(mark, "punct", "punct", quoted, quoted).add(closing, "punct", "punct", quoted, quoted)
        if inverted:
            node.label, node.constructions = "SINV", ("inverted attribution",)
            node.add(reporting, None, None).add(subject, "nsubj", "nsubj")
        else:
            node.constructions = ("attribution after quotation",)
            node.add(subject, "nsubj", "nsubj").add(reporting, None, None)
        return self._closed(node, ".")

    def _will_be_pronoun(self, subject: Node) -> bool:
        """Whether the speaker could become a pronoun ("said he" is not modern prose)."""
        key = subject.reference.entity if subject.reference else ""
        return key in self.discourse.previous.entities or key in self.discourse.current.entities

    def _closed(self, node: Node, mark: str) -> Node:
        return node.add(word(mark, mark, "PUNCT", "."), "punct", "punct")

    def plain(self, items: tuple[Item, ...]) -> Node:
        """A sentence of the narrative itself with its full stop."""
        self.narrating = self.frame.tense == "past"
        sentence = self.sentence(items)
        self.narrating = False
        return self._closed(sentence, ".")

    def line(self, items: tuple[Item, ...]) -> Node:
        """Any line of a scenario, finished: mentions worded, memory moved on.

        `say @x : S`, `ask @x (to @y) : whether S | wh ...`, `tell @x to @y : V ...`, or a plain sentence.
        """
        if items[0] in ("say", "ask", "tell") and isinstance(items[1], str) and items[1].startswith("@"):
            at = items.index(":")
            head, content = items[:at], items[at + 1 :]
            speaker = word_in(head[1], items)
            addressee = word_in(head[3], items) if len(head) > 2 else None
            if items[0] == "say":
                node = self.statement(speaker, content)
            elif items[0] == "ask":
                node = self.question(speaker, addressee, content)
            elif addressee is not None:
                node = self.command(speaker, addressee, content)
            else:
                raise fault("a command has no addressee", items)
        else:
            node = self.plain(items)
        self.follows_question = items[0] == "ask"
        self.word_mentions(node)
        self.discourse.next_sentence()
        return node
