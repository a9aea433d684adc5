"""Words before and in the head of a noun phrase: numbers, adjectives, compound nouns."""

from __future__ import annotations

from typing import TypeGuard

from sample_corpus.grammar.base import GrammarState, adverb_phrase, coordinate, fault, is_group, word_in
from sample_corpus.lexicon import APPROXIMATORS, NUMBER_WORDS, ORDINALS, PREPOSITIONS, lexicon
from sample_corpus.notation import Item
from sample_corpus.structure import Node, comma, phrase, word

_DEGREE_WORDS = frozenset({"more", "most", "less", "least"})


def is_number(token: Item | None) -> TypeGuard[str]:
    """Whether a token is a cardinal number in digits or letters."""
    return isinstance(token, str) and (token in NUMBER_WORDS or token.replace(",", "").replace(".", "").isdigit())


def is_year(token: str) -> bool:
    return token.isdigit() and len(token) == 4 and token[:2] in ("18", "19", "20")


class NounWords:
    """Reads the words of one noun phrase from left to right."""

    def __init__(self, grammar: GrammarState, items: tuple[Item, ...], case: str, subject: bool):
        self.grammar, self.items, self.case, self.subject = grammar, items, case, subject
        self.at = 0
        self.enumerates = "," in items
        self.words = lexicon()

    def peek(self, ahead: int = 0) -> Item | None:
        """The item `ahead` places on, None past the end."""
        return self.items[self.at + ahead] if self.at + ahead < len(self.items) else None

    def take(self) -> Item:
        """The next item."""
        item = self.items[self.at]
        self.at += 1
        return item

    def take_word(self) -> str:
        """The next item, which must be a word."""
        return word_in(self.take(), self.items)

    def approximates(self) -> bool:
        """Whether the word in front qualifies a number or sum ("nearly 200")."""
        following = self.peek(1)
        return self.peek() in APPROXIMATORS and (is_number(following) or str(following).startswith("$"))

    def numeral(self, node: Node) -> None:
        """A number before the noun; a sum of money or a bare number becomes the head itself."""
        approximator = None
        if self.approximates():
            form = self.take_word()
            approximator = word(form, form, "ADV", "RB")
        token = self.peek()
        if isinstance(token, str) and token.startswith("$"):
            self.take()
            sign = word("$", "$", "SYM", "$")
            amount = Node("QP", entity_type="MONEY", constructions=("money",), plural=True)
            if approximator:
                amount.add(approximator, "quantmod", "advmod")
            amount.add(sign, None, None)
            self.figure(amount, token[1:], "num", "nummod", sign)
            node.add(amount, None, None)
            node.plural = True
            return
        if not is_number(token):
            return
        quantity = Node("QP", constructions=("cardinal number",))
        if approximator:
            quantity.add(approximator, "quantmod", "advmod")
            quantity.constructions += ("approximated number",)
        self.figure(quantity, self.take_word(), None, None, None)
        if len(quantity.edges) == 1:
            leaf = quantity.edges[0].child
            leaf.constructions, quantity = quantity.constructions, leaf
        following = self.peek()
        alone = following is None or following in PREPOSITIONS or is_group(following, "[")
        if alone:
            node.add(quantity, None, None)
            node.plural = token != "one"
            if token != "one":
                quantity.entity_type = "DATE" if is_year(token) else "CARDINAL"
        else:
            quantity.entity_type = "CARDINAL"
            node.add(quantity, "num", "nummod")

    def figure(self, node: Node, first: str, sd: str | None, ud: str | None, governor: Node | None) -> None:
        """The words of one number ("4.2 million"): the last one counts, the first hangs on it as number/compound."""
        counts = governor is not None or (isinstance(self.peek(), str) and self.peek() not in PREPOSITIONS)
        if first.isdigit() and (len(first) > 4 or (len(first) == 4 and counts)):
            first = f"{int(first):,}"
        leaf = word(first, first, "NUM", "CD")
        if self.peek() in ("hundred", "thousand", "million", "billion", "dozen"):
            form = self.take_word()
            last = word(form, form, "NUM", "CD")
            node.add(leaf, "number", "compound", last, last)
            leaf = last
        node.add(leaf, sd, ud, governor, governor)

    def run(self) -> list[str]:
        """The content words up to the head noun."""
        run: list[str] = []
        while isinstance(token := self.peek(), str):
            if token in (",", "and") and run and self.joins_adjectives(run[-1]):
                run.append(self.take_word())
                continue
            if is_number(token) and run and run[-1] in self.words.adjectives and self.peek(1) is not None:
                run.append(self.take_word())
                continue
            if (token in PREPOSITIONS and (run or token not in self.words.adjectives)) or not self.is_content(token):
                break
            run.append(self.take_word())
        if not run:
            raise fault(f"no noun where {self.peek()!r} stands", self.items)
        return run

    def joins_adjectives(self, before: str) -> bool:
        """Whether the conjunction or comma in front stands between two adjectives before a noun."""
        following, after = self.peek(1), self.peek(2)
        return (
            before in self.words.adjectives
            and following in self.words.adjectives
            and isinstance(after, str)
            and self.is_content(after)
        )

    def is_content(self, token: str) -> bool:
        """Whether a token can stand between determiner and noun, or be the noun."""
        words = self.words
        if token in words.adverbs and token not in words.nouns and token not in words.adjectives:
            following = self.peek(1)
            return isinstance(following, str) and (following in words.adjectives or following in words.adverbs)
        return any(token in part for part in (words.nouns, words.adjectives, words.proper))

    def premodifiers(self, node: Node, run: list[str]) -> None:
        """Adjectives (with adverbs, coordinated or stacked) and compound parts before the head noun."""
        position, adjectives, compounds = 0, 0, 0
        while position < len(run):
            token = run[position]
            if token in self.words.adverbs and self.is_degree(run, position):
                stop = position + 1
                while run[stop] not in self.words.adjectives:
                    stop += 1
                parts = [self.grammar.adverb(run[k]) for k in range(position, stop)]
                node.add(self.modified_adjective(parts, run[stop]), "amod", "amod")
                position, adjectives = stop + 1, adjectives + 1
            elif token in self.words.adjectives:
                if position + 2 < len(run) and run[position + 1] == "and":
                    pair = [self.grammar.adjective(run[position]), self.grammar.adjective(run[position + 2])]
                    node.add(coordinate("ADJP", pair, "and", False, "adjective coordination"), "amod", "amod")
                    position += 3
                else:
                    node.add(self.grammar.adjective(token), "amod", "amod")
                    position += 1
                adjectives += 1
            elif token == ",":
                node.add(comma(), "punct", "punct")
                position += 1
            elif is_number(token):
                node.add(word(token, token, "NUM", "CD"), "num", "nummod")
                position += 1
            else:
                node.add(self.noun(token), "nn", "compound")
                position, compounds = position + 1, compounds + 1
        if adjectives > 1:
            node.constructions += ("adjective stack",)
        if compounds:
            node.constructions += ("noun compound" if compounds == 1 else "noun compound of three",)

    def is_degree(self, run: list[str], position: int) -> bool:
        """Whether the adverb at `position` modifies an adjective after it ("more", "most" may be adjectives)."""
        token, following = run[position], run[position + 1] if position + 1 < len(run) else ""
        if token in self.words.adjectives and token not in _DEGREE_WORDS:
            return False
        return following in self.words.adjectives or (following in self.words.adverbs and token not in self.words.nouns)

    def modified_adjective(self, adverbs: list[Node], form: str) -> Node:
        """ADJP of an adjective with adverbs before it."""
        adjective = phrase("ADJP", self.grammar.adjective(form), "adverb on adjective")
        modifier = adverbs[0] if len(adverbs) == 1 else adverb_phrase(*adverbs)
        head = adjective.edges.pop()
        adjective.add(modifier, "advmod", "advmod")
        adjective.edges.append(head)
        return adjective

    def noun(self, token: str) -> Node:
        """A noun or proper noun as a leaf."""
        if token in self.words.nouns:
            entry = self.words.nouns[token]
            return word(token, entry.lemma, "NOUN", "NNS" if entry.plural else "NN")
        if token in self.words.proper:
            plural = self.words.proper[token] == "plural"
            return word(token, token, "PROPN", "NNPS" if plural else "NNP")
        if token in ORDINALS or token in self.words.adjectives:
            return self.grammar.adjective(token)
        raise fault(f"the noun {token!r} is not in the lexicon", self.items)
