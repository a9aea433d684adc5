"""Structural differences between Stanford Dependencies and Universal Dependencies.

Each function converts one construction of a `Draft` in place, so that it remains a tree; `restructure` calls them in
the order in which they depend on each other. Labels that follow from the new structure are set here.
"""

from __future__ import annotations

from itertools import pairwise

from attention_atlas.corpora.conllu import Tree, children, subtree


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS = _set("not n't n’t nt never")
POSSESSIVES = _set("'s ’s ' ’ s'")
PARTING_MARKS = _set(", ; : - -- – —")

MONTHS = _set(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
DAY_HALVES = _set("am pm a.m. p.m. a.m p.m")
TIME_NOUNS = (
    MONTHS
    | _set("monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun")
    | _set("second minute hour day night morning afternoon evening noon midnight week weekend month quarter year yr")
    | _set("decade century time moment period today tomorrow yesterday tonight spring summer fall autumn winter season")
)

PHRASE_ADVERBS = _set("right well far just straight directly shortly exactly halfway")
"""Adverbs that modify the prepositional phrase after them rather than the verb before."""

ALWAYS_PREPOSITIONS = _set(
    "of by about at from into on upon with without in despite over through toward towards between against"
)
"""Words that are prepositions for the Penn Treebank before any clause ("of whether they came")."""

NEVER_PREPOSITIONS = _set("that if whether because while although though unless once so lest whereas when where how why")
"""Words that are subordinating conjunctions even before a participle ("while reading")."""

LAST_WORD_HEADS = frozenset(
    "because of,b/c of,such as,instead of,due to,as well,as well as,more than,less than,fewer than,up to".split(",")
)
"""Multiword expressions headed by their last word."""

STACKED_PREPOSITIONS = frozenset("according to,prior to,as of,as to,as for,out of".split(","))
"""Pairs in which the second word heads a prepositional phrase inside that of the first."""

_BECOME_PREP = frozenset({"obl", "nmod", "advmod", "acl", "advcl", "xcomp", "ccomp", "appos", "amod", "compound"})
_LEFT_OF_PREPOSITION = frozenset({"advmod", "cc", "punct", "discourse", "obl:unmarked", "obl:npmod", "obl:tmod"})
_STAY_WITH_NOUN = frozenset({"case", "det", "amod", "nmod", "nummod", "compound", "flat", "fixed", "acl", "appos"})
_NO_NAMES = frozenset({"NUM", "PUNCT", "SYM", "ADP", "DET"})
_CLAUSE_COMPLEMENTS = frozenset({"ADV", "VERB", "AUX", "ADP", "SCONJ"})


class Draft:
    """A tree being rebuilt: heads, UD relations, and the Stanford labels set so far ("" for none); entry 0 is ROOT.

    `topmost[n]` is the preposition that replaced noun or clause n, `inner[p]` the second word of a two-word preposition, to
    which its object is attached.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.size = len(tree.words)
        self.heads = [0, *tree.heads]
        self.relations = ["", *tree.relations]
        self.labels = [""] * (self.size + 1)
        self.topmost: dict[int, int] = {}
        self.inner: dict[int, int] = {}

    def word(self, i: int) -> str:
        return self.tree.words[i - 1].lower()

    def upos(self, i: int) -> str:
        return self.tree.upos[i - 1] if i else ""

    def tag(self, i: int) -> str:
        return self.tree.xpos[i - 1] if i else ""

    def main(self, i: int) -> str:
        """UD relation of word i without its subtype."""
        return self.relations[i].split(":")[0]

    def kids(self, i: int, *relations: str) -> list[int]:
        """Dependents of i in order, all or only those with one of these main relations."""
        dependents = [k for k in range(1, self.size + 1) if self.heads[k] == i]
        return [k for k in dependents if self.main(k) in relations] if relations else dependents

    def verb_form(self, i: int) -> str:
        """Tag VBG, VBN or VB, or "" for finite verbs and other words, from the Penn tag or else from the feature VerbForm."""
        if self.tag(i) in ("VBG", "VBN", "VB"):
            return self.tag(i)
        if self.tag(i).startswith(("VB", "MD")):
            return ""
        features = dict(part.split("=", 1) for part in self.tree.feats[i - 1].split("|") if "=" in part)
        past = "VBN" if features.get("Tense", "Past") == "Past" else "VBG"
        return {"Ger": "VBG", "Part": past, "Inf": "VB"}.get(features.get("VerbForm", ""), "")

    def first_verb_form(self, i: int) -> str:
        """Form of the first verb of the group around predicate i, including its auxiliaries and copula."""
        return self.verb_form(min([i, *self.kids(i, "aux", "cop")]))

    def is_infinitive_to(self, i: int) -> bool:
        """Whether i is the "to" before an infinitive, as opposed to the preposition."""
        return self.main(i) == "mark" and self.word(i) in ("to", "ta", "na") and self.tag(i) != "IN"

    def has_to(self, i: int) -> bool:
        return any(self.is_infinitive_to(k) for k in self.kids(i))

    def replace(self, old: int, new: int) -> None:
        """Replace `old` by `new`, until now its dependent, and attach `old` to it with its relation unchanged."""
        self.heads[new], self.heads[old] = self.heads[old], new
        self.relations[new] = self.relations[old]
        self.labels[new] = self.labels[old]

    def promote(self, new: int, old: int) -> None:
        """`replace`, and all other dependents of `old` move to `new`."""
        rest = [k for k in self.kids(old) if k != new]
        self.replace(old, new)
        self.move(rest, new)

    def move(self, words: list[int], head: int) -> None:
        for word in words:
            self.heads[word] = head

    def hang(self, i: int, head: int, label: str) -> None:
        self.heads[i] = head
        self.labels[i] = label


def restructure(draft: Draft) -> None:
    _fixed_phrases(draft)
    _flat_names(draft)
    _dates(draft)
    _clauses_as_predicates(draft)
    _phrases_as_predicates(draft)
    _prepositional_phrases(draft)
    _prepositions_before_clauses(draft)
    _coordinated_phrases(draft)
    _conjunctions(draft)
    _punctuation(draft)


def _fixed_phrases(d: Draft) -> None:
    for first in range(1, d.size + 1):
        following = d.kids(first, "fixed")
        if not following:
            continue
        words = " ".join(d.word(i) for i in [first, *following])
        if words in STACKED_PREPOSITIONS:
            d.labels[following[0]] = "pcomp"
            d.inner[first] = following[0]
        elif len(following) == 1 and d.upos(first) == "ADP" and d.main(first) == "advmod" and d.upos(following[0]) != "ADP":
            d.labels[first], d.labels[following[0]] = "prep", "pobj"
        else:
            head = following[0] if words in LAST_WORD_HEADS else first
            if head != first:
                d.promote(head, first)
            for i in {first, *following} - {head}:
                d.hang(i, head, "mwe")


def _flat_names(d: Draft) -> None:
    for first in range(1, d.size + 1):
        parts = [k for k in d.kids(first, "flat") if not d.labels[k]]
        if not parts:
            continue
        named = [i for i in parts if d.upos(i) not in _NO_NAMES and any(c.isalnum() for c in d.word(i))]
        numeric = d.upos(first) in ("NUM", "SYM")
        head = named[-1] if named else (parts[-1] if numeric else first)
        if head != first:
            d.promote(head, first)
        for i in {first, *parts} - {head}:
            d.hang(i, head, {"NUM": "num", "PUNCT": "punct", "DET": "det"}.get(d.upos(i), "nn"))


def _dates(d: Draft) -> None:
    """In "March 28, 2005" and "2 PM" the noun is the head and the numbers are `num`."""
    for number in range(1, d.size + 1):
        for noun in d.kids(number, "nmod"):
            name = d.word(noun).rstrip(".")
            if d.relations[noun] != "nmod:unmarked" or d.tag(number)[:2] not in ("CD", "NN", "JJ"):
                continue
            if not d.tree.words[number - 1][:1].isdigit() or not (name in MONTHS or d.word(noun) in DAY_HALVES):
                continue
            d.promote(noun, number)
            d.labels[number] = "num"
            break


def _clauses_as_predicates(d: Draft) -> None:
    """In "The plan is to win" and "The problem is that ..." the copula heads the clause that UD makes the predicate."""
    for predicate in range(1, d.size + 1):
        copulas = d.kids(predicate, "cop")
        if not copulas:
            continue
        copula = copulas[0]
        outer = [k for k in d.kids(predicate, "nsubj", "csubj") if d.relations[k].endswith(":outer")]
        marks = [k for k in d.kids(predicate, "mark") if copula < k < predicate]
        if copula > predicate or not (outer or marks):
            continue
        inner = [k for k in d.kids(predicate, "mark", "nsubj", "csubj", "aux") if k > copula and k not in outer]
        opening = min([predicate, *inner])
        closing = max([predicate, *(k for k in d.kids(predicate) if d.main(k) not in ("punct", "parataxis"))])
        moved = [
            k
            for k in d.kids(predicate)
            if k in outer
            or k < copula
            or (copula < k < opening and d.main(k) in ("advmod", "aux"))
            or (k > closing and d.main(k) in ("punct", "parataxis"))
        ]
        d.replace(predicate, copula)
        d.move(moved, copula)
        subject = any(k not in moved for k in d.kids(predicate, "nsubj", "csubj"))
        d.relations[predicate] = "xcomp" if d.first_verb_form(predicate) == "VB" and not subject else "ccomp"


def _phrases_as_predicates(d: Draft) -> None:
    """In "is in the house" and "is here" the copula is the head, and the phrase modifies it."""
    for predicate in range(1, d.size + 1):
        copulas = d.kids(predicate, "cop")
        cases = _prepositions(d, predicate)
        if not copulas or not (cases or d.upos(predicate) == "ADV"):
            continue
        copula = copulas[-1]
        phrase_start = min([predicate, *(k for k in cases if k < predicate)])
        moved = []
        for k in d.kids(predicate):
            if k == copula:
                continue
            inside = phrase_start <= k <= predicate
            if d.main(k) == "advmod":
                with_phrase = d.word(k) in PHRASE_ADVERBS or (not cases and d.word(k) not in NEGATIONS)
                stays = inside or (k == phrase_start - 1 and with_phrase)
            elif d.main(k) == "conj":
                stays = not (d.kids(k, "cop", "nsubj", "csubj", "expl") or d.upos(k) in ("VERB", "AUX"))
            else:
                stays = inside or d.main(k) in _STAY_WITH_NOUN
            if not stays:
                moved.append(k)
        d.replace(predicate, copula)
        d.move(moved, copula)
        d.relations[predicate] = "obl" if cases else "advmod"


def _prepositions(d: Draft, noun: int) -> list[int]:
    """Adpositions of a noun; its possessive clitic is labelled and not included."""
    prepositions = []
    for k in d.kids(noun, "case"):
        if d.tag(k) == "POS" or (k > noun and d.word(k) in POSSESSIVES):
            d.labels[k] = "possessive"
        elif not d.labels[k]:
            prepositions.append(k)
    return prepositions


def _prepositional_phrases(d: Draft) -> None:
    for noun in range(1, d.size + 1):
        if prepositions := _prepositions(d, noun):
            _put_below(d, noun, prepositions, "pcomp" if d.upos(noun) in _CLAUSE_COMPLEMENTS else "pobj")


def _prepositions_before_clauses(d: Draft) -> None:
    for clause in range(1, d.size + 1):
        for mark in d.kids(clause, "mark"):
            if mark < clause and _is_preposition(d, mark, clause):
                _put_below(d, clause, [mark], "pcomp")
                break


def _is_preposition(d: Draft, mark: int, clause: int) -> bool:
    """Whether a subordinating word is a preposition for the Penn Treebank: "by doing", "of whether", not "if"."""
    if d.is_infinitive_to(mark) or d.word(mark) in NEVER_PREPOSITIONS:
        return False
    if d.word(mark) in ALWAYS_PREPOSITIONS and not d.kids(mark):
        return True
    return d.first_verb_form(clause) == "VBG"


def _put_below(d: Draft, inner: int, prepositions: list[int], label: str) -> None:
    """Replace `inner` by the first preposition; each further one attaches to the previous one, `inner` to the last."""
    top = prepositions[0]
    place = d.main(inner)
    bottom = d.inner.get(prepositions[-1], prepositions[-1])
    if top < inner:
        left = [k for k in d.kids(inner) if k < top]
        before = [k for k in left if d.relations[k] in _LEFT_OF_PREPOSITION or d.main(k) in ("cc", "advmod")]
        opened = any(d.main(k) == "punct" for k in before)
        after = [k for k in d.kids(inner, "punct") if k > inner] if opened else []
        d.move([*before, *after], top)
    d.replace(inner, top)
    if place in _BECOME_PREP and d.relations[top] != "acl:relcl":
        d.labels[top] = "prep"
    for upper, lower in pairwise(prepositions):
        d.hang(lower, d.inner.get(upper, upper), "pcomp")
    d.hang(inner, bottom, label)
    d.topmost[inner] = d.topmost.get(inner, top)


def _coordinated_phrases(d: Draft) -> None:
    """A prepositional phrase or adverb coordinated with a phrase attaches to the preposition of that phrase."""
    for k in range(1, d.size + 1):
        first = d.heads[k]
        if d.main(k) == "conj" and not d.labels[k] and first in d.topmost and k != d.topmost[first]:
            adverb = d.upos(k) == "ADV" and d.upos(first) != "ADV"
            if k in d.topmost.values() or adverb:
                d.heads[k] = d.topmost[first]


def _conjunctions(d: Draft) -> None:
    """Coordinating conjunctions attach to the first conjunct."""
    for conjunct in range(1, d.size + 1):
        first = d.heads[conjunct]
        if d.main(conjunct) == "conj" and not d.labels[conjunct] and first:
            before = [k for k in d.kids(conjunct, "cc") if first < k < conjunct and d.relations[k] != "cc:preconj"]
            d.move(before, first)


def _punctuation(d: Draft) -> None:
    """Punctuation between phrases moves from the edge of a phrase to the word that the phrase modifies."""
    for mark in range(1, d.size + 1):
        if d.main(mark) != "punct" or d.word(mark) not in PARTING_MARKS or d.kids(mark):
            continue
        while d.heads[d.heads[mark]]:
            before, last = subtree(children(d.heads[1:]), d.heads[mark])
            if mark not in (before + 1, last):
                break
            d.heads[mark] = d.heads[d.heads[mark]]
