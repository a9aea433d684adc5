"""Gold layers of examples that are not word by word: questions, targets of edge probing, keyphrases and mentions.

Mentions are spans of words that refer to something, with their head words, number, gender and person. The word lists are short
and compiled for this project. A feature without evidence is unknown, and unknown agrees with every value.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple


@dataclass(frozen=True)
class QuestionAnnotation:
    """A question on the words of an example: its passage, and its answers."""

    question: str  # the question's id, the same for all windows of its passage
    context: str
    size: int  # number of words in the question; they come before those of the window
    starts: tuple[int, ...]  # starts, stops: for each word of the window its characters start .. stop - 1 in the passage
    stops: tuple[int, ...]
    answers: tuple[str, ...]
    span: tuple[int, int] | None  # words start .. stop - 1 of the example with the first answer; None if not in the window

    def text(self, start: int, stop: int) -> str:
        """The passage from word `start` to word `stop` - 1 of the example, both in the window."""
        return self.context[self.starts[start - self.size] : self.stops[stop - 1 - self.size]]


WordSpan = tuple[int, int]

EDGE_TASKS = {
    "pos": "Parts of speech",
    "constituents": "Constituents",
    "dependencies": "Dependencies",
    "entities": "Entities",
    "roles": "Semantic roles",
    "coreference": "Coreference",
    "protoroles": "Proto-roles",
    "relations": "Relations",
}
"""The eight tasks in the paper's order -> their names in tables and figures."""


@dataclass(frozen=True)
class EdgeTarget:
    """A target of edge probing: one span or a pair of spans, with its labels."""

    span1: WordSpan  # span1, span2: words start to stop - 1, from 0; span2 is None for tasks with one span
    span2: WordSpan | None
    labels: tuple[str, ...]  # all correct labels; empty if no label applies
    task: str = ""  # name of the task, if a file has several


@dataclass(frozen=True)
class Keyphrase:
    """A gold phrase of a document, and whether it is in its text."""

    text: str
    present: bool


HEAD_RULES = ("constituents", "dependency", "surface", "last")
BEST_HEAD_RULE = ("dependency", "constituents", "surface", "last")  # the same, the most reliable one first
PRONOUN, PROPER, NOMINAL = "pronoun", "proper", "nominal"
MENTION_TYPES = (PRONOUN, PROPER, NOMINAL)

PRONOUNS = frozenset(
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself "
    "it its itself they them their theirs themselves this that these those who whom whose which one oneself thou thee thy "
    "thine".split()
)
# Words that end the part of a noun phrase with its head, for text without parse and tags.
_AFTER_HEAD = frozenset(
    "of in on at by for from to with about into over after before between through without under against among near that who "
    "whom whose which where when , ; : ( - -- and or".split()
)
_NOUN = re.compile(r"\w")


@dataclass(frozen=True)
class Mention:
    """A mention in one example; positions are words of the example, counted from 0."""

    start: int  # start, stop: its words, stop excluded
    stop: int
    cluster: str  # name of its chain, unique in the document
    first: bool = False  # whether it is the chain's first in the whole document
    singleton: bool = False  # whether the chain has no other mention in the whole document
    heads: dict[str, int] = field(default_factory=dict)  # head rule, if the source supports it -> position of the head word
    role: str = ""  # pronoun, A or B in GAP; "" in coreference corpora
    entity: str = ""  # type of the named entity that its head word belongs to; "" if there is none


def surface_head(words: Sequence[str]) -> int:
    """Head of a noun phrase without parse or tags: the last word before a preposition, relative word, comma or conjunction.

    A possessive 's or a closing mark is never the head; for a phrase that starts with such a word, the head is the last word.
    """
    stop = next((k for k, word in enumerate(words) if k > 0 and word.lower() in _AFTER_HEAD), len(words))
    inside = [k for k in range(stop) if _NOUN.search(words[k]) and words[k].lower() not in ("'s", "’s")]
    return inside[-1] if inside else len(words) - 1


def dependency_head(start: int, stop: int, heads: Sequence[int]) -> int:
    """The word of a span whose head lies outside of it; if there are several, the one that dominates most of the span.

    The span is words start .. stop - 1 from 0; `heads` are positions from 1, 0 for the root.
    """
    roots = [k for k in range(start, stop) if not start < heads[k] <= stop]
    if len(roots) == 1:
        return roots[0]
    below = dict.fromkeys(roots, 0)
    for k in range(start, stop):
        word = k
        while word not in below:
            word = heads[word] - 1
        below[word] += 1
    return max(roots, key=lambda root: (below[root], root))


def mention_type(head: str, tag: str, starts_sentence: bool, span: Sequence[str]) -> str:
    """pronoun, proper or nominal, by the tag of the head word (PRP, PRP$; NNP, NNPS), or by its surface if there is no tag.

    By surface: pronoun if it is in the closed class of pronouns; proper if it is capitalised other than at the start of the
    sentence (the head `starts_sentence`); otherwise nominal. `span` is all words of the mention.
    """
    if tag not in ("", "_", "-"):
        return PRONOUN if tag.startswith("PRP") else PROPER if tag.startswith("NNP") else NOMINAL
    if head.lower() in PRONOUNS and len(span) == 1:
        return PRONOUN
    determined = len(span) > 1 and span[0].lower() in ("a", "an")
    return PROPER if head[:1].isupper() and not starts_sentence and not determined else NOMINAL


SINGULAR, PLURAL = "singular", "plural"
MASCULINE, FEMININE, NEUTER = "masculine", "feminine", "neuter"

_FIRST = dict.fromkeys("i me my mine myself".split(), SINGULAR) | dict.fromkeys("we us our ours ourselves".split(), PLURAL)
_SECOND = dict.fromkeys("you your yours thou thee thy thine".split()) | {"yourself": SINGULAR, "yourselves": PLURAL}
_GENDER = (
    dict.fromkeys("he him his himself".split(), MASCULINE)
    | dict.fromkeys("she her hers herself".split(), FEMININE)
    | dict.fromkeys("it its itself this that".split(), NEUTER)
)
_PLURALS = frozenset("they them their theirs themselves these those".split())
_MALE = frozenset(
    "mr mr. sir lord king prince duke count baron monsieur don father dad son brother uncle nephew husband grandfather man men "
    "boy boys gentleman gentlemen fellow lad guy widower actor waiter priest monk businessman spokesman policeman fisherman "
    "chairman john james david robert michael william richard thomas charles george henry edward joseph peter paul frank jack "
    "tom sam daniel mark martin simon philip arthur albert louis walter harry ben victor oscar andrew adam leo".split()
)
_FEMALE = frozenset(
    "mrs mrs. miss ms ms. madam madame lady queen princess duchess countess mother mom mum daughter sister aunt niece wife "
    "grandmother woman women girl girls widow actress waitress nun businesswoman spokeswoman policewoman mary anne anna "
    "elizabeth margaret jane sarah susan karen helen laura nancy alice emma julia emily ruth grace clara martha maria diana "
    "catherine kate lucy rose sophie charlotte victoria amy hannah".split()
)

_PERSON, _GROUPS, _PEOPLES = "PERSON", ("ORG", "ORGANIZATION"), "NORP"
"""Entity types of persons; of groups, which can be it or they; and of nationalities and the like, which can be persons."""
ANY_GENDER = frozenset((MASCULINE, FEMININE, NEUTER))
_OF_PERSONS = frozenset((MASCULINE, FEMININE))
_CENSUS = ("dist.male.first", "dist.female.first")
"""Files of the package `names` with the first names of the US Census of 1990, which are in the public domain."""
_LEAST_COMMON = 0.01  # minimum percentage of people with a name: many rarer names are usually ordinary words (an, see, long)
_CLEARLY = 10  # ratio of frequencies from which a name of both genders counts for the more frequent one


class Features(NamedTuple):
    """Agreement features of a mention: number (None is unknown), possible genders, and person (1 to 3)."""

    number: str | None
    genders: frozenset[str]
    person: int


class Names(NamedTuple):
    """First names in lower case by gender, in addition to the built-in words; they count only if capitalised in the text."""

    masculine: frozenset[str] = frozenset()
    feminine: frozenset[str] = frozenset()


NO_NAMES = Names()


def features(words: Sequence[str], head: int, tag: str, entity: str = "", names: Names = NO_NAMES) -> Features:
    """Number, gender and person of a mention; `tag` (Penn's) and `entity` (OntoNotes) of the head: "_" and "" if unknown."""
    lower = [word.lower() for word in words]
    head_word = lower[head]
    for person, numbers in ((1, _FIRST), (2, _SECOND)):
        if head_word in numbers:
            return Features(numbers[head_word], ANY_GENDER, person)
    if head_word in _PLURALS:
        return Features(PLURAL, ANY_GENDER, 3)
    if head_word in _GENDER:
        return Features(SINGULAR, frozenset((_GENDER[head_word],)), 3)
    # The entity type takes precedence over the words: Washington Post is not a man.
    if entity and entity not in (_PERSON, _PEOPLES):
        return Features(None if entity in _GROUPS else _number(lower, head_word, tag), frozenset((NEUTER,)), 3)
    capitalised = {word.lower() for word in words[: head + 1] if word[:1].isupper()}
    male = _MALE.intersection(lower[: head + 1]) | (names.masculine & capitalised)
    female = _FEMALE.intersection(lower[: head + 1]) | (names.feminine & capitalised)
    if bool(male) != bool(female):
        genders = frozenset((MASCULINE if male else FEMININE,))
    else:
        genders = _OF_PERSONS if entity == _PERSON else ANY_GENDER
    return Features(_number(lower, head_word, tag), genders, 3)


@functools.cache
def census_names() -> Names:
    """First names by gender of the US Census of 1990, from the package `names`, but for very rare ones.

    A name in both lists counts only for a gender in which it is at least ten times as common as in the other.
    """
    shares = []
    for file in _CENSUS:
        rows = (line.split() for line in files("names").joinpath(file).read_text(encoding="utf-8").splitlines())
        shares.append({row[0].lower(): float(row[1]) for row in rows if float(row[1]) >= _LEAST_COMMON})
    return Names(
        *(
            frozenset(name for name, share in one.items() if share >= _CLEARLY * other.get(name, 0.0))
            for one, other in (shares, shares[::-1])
        )
    )


def _number(lower: Sequence[str], head_word: str, tag: str) -> str | None:
    if "and" in lower[:4]:
        return PLURAL
    if tag.startswith("NN"):
        return PLURAL if tag.endswith("S") else SINGULAR
    if lower[0] in ("a", "an", "this", "that", "each", "every"):
        return SINGULAR
    plural = ("these", "those", "many", "several", "few", "two", "three", "both", "all")
    return PLURAL if lower[0] in plural or head_word in ("men", "women", "people") else None


def agree(a: Features, b: Features) -> bool:
    """True unless a feature known for both mentions disagrees."""
    same_number = None in (a.number, b.number) or a.number == b.number
    return a.person == b.person and same_number and bool(a.genders & b.genders)
