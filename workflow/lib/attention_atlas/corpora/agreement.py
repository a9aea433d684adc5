"""Number, gender and person of mentions, by their words: the features of a rule-based coreference system.

The word lists are short and compiled for this project. A feature that they do not decide is unknown; unknown agrees with all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SINGULAR, PLURAL = "singular", "plural"
MASCULINE, FEMININE, NEUTER = "masculine", "feminine", "neuter"

_FIRST = {"i": SINGULAR, "me": SINGULAR, "my": SINGULAR, "mine": SINGULAR, "myself": SINGULAR} | dict.fromkeys(
    "we us our ours ourselves".split(), PLURAL
)
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


class Features(NamedTuple):
    """Agreement features of a mention; None is unknown."""

    number: str | None
    gender: str | None
    person: int


def features(words: Sequence[str], head: int, tag: str) -> Features:
    """Number, gender and person of a mention.

    Args:
        words: its words.
        head: position of its head word among them.
        tag: part of speech of the head in Penn's tag set, "_" where unknown.
    """
    lower = [word.lower() for word in words]
    head_word = lower[head]
    for person, numbers in ((1, _FIRST), (2, _SECOND)):
        if head_word in numbers:
            return Features(numbers[head_word], None, person)
    if head_word in _PLURALS:
        return Features(PLURAL, None, 3)
    if head_word in _GENDER:
        return Features(SINGULAR, _GENDER[head_word], 3)
    male, female = _MALE.intersection(lower[: head + 1]), _FEMALE.intersection(lower[: head + 1])
    gender = MASCULINE if male and not female else FEMININE if female and not male else None
    return Features(_number(lower, head_word, tag), gender, 3)


def _number(lower: Sequence[str], head_word: str, tag: str) -> str | None:
    if "and" in lower[:4]:
        return PLURAL
    if tag.startswith("NN"):
        return PLURAL if tag.endswith("S") else SINGULAR
    if lower[0] in ("a", "an", "this", "that", "each", "every"):
        return SINGULAR
    if lower[0] in ("these", "those", "many", "several", "few", "two", "three", "both", "all") or head_word in (
        "men",
        "women",
        "people",
    ):
        return PLURAL
    return None


def agree(a: Features, b: Features) -> bool:
    """True unless a feature known for both mentions disagrees."""
    return (
        a.person == b.person
        and (a.number is None or b.number is None or a.number == b.number)
        and (a.gender is None or b.gender is None or a.gender == b.gender)
    )
