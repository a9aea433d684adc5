"""Number, gender and person of mentions, by words and named entities: the features of a rule-based coreference system.

The word lists are short and compiled for this project; lists of first names by gender can be added. A feature that nothing
decides is unknown; unknown agrees with all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from attention_atlas.errors import AtlasError

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


_PERSON, _GROUPS, _PEOPLES = "PERSON", ("ORG", "ORGANIZATION"), "NORP"
"""Entity types of persons; of groups, which can be it or they; and of nationalities and the like, which can be persons."""
ANY_GENDER = frozenset((MASCULINE, FEMININE, NEUTER))
_OF_PERSONS = frozenset((MASCULINE, FEMININE))


class Features(NamedTuple):
    """Agreement features of a mention.

    Attributes:
        number: None is unknown.
        genders: those that it can have.
        person: 1 to 3.
    """

    number: str | None
    genders: frozenset[str]
    person: int


@dataclass(frozen=True)
class Names:
    """First names in lower case by gender, besides the words that are known here; names in both lists decide nothing."""

    masculine: frozenset[str] = frozenset()
    feminine: frozenset[str] = frozenset()


NO_NAMES = Names()


def features(words: Sequence[str], head: int, tag: str, entity: str = "", names: Names = NO_NAMES) -> Features:
    """Number, gender and person of a mention.

    Args:
        words: its words.
        head: position of its head word among them.
        tag: part of speech of the head in Penn's tag set, "_" where unknown.
        entity: type of the named entity that the head belongs to (OntoNotes), "" where unknown or none.
        names: further first names by gender.
    """
    lower = [word.lower() for word in words]
    head_word = lower[head]
    for person, numbers in ((1, _FIRST), (2, _SECOND)):
        if head_word in numbers:
            return Features(numbers[head_word], ANY_GENDER, person)
    if head_word in _PLURALS:
        return Features(PLURAL, ANY_GENDER, 3)
    if head_word in _GENDER:
        return Features(SINGULAR, frozenset((_GENDER[head_word],)), 3)
    # Types of things decide before words do: Washington Post is no man, whatever its words are.
    if entity and entity not in (_PERSON, _PEOPLES):
        return Features(None if entity in _GROUPS else _number(lower, head_word, tag), frozenset((NEUTER,)), 3)
    male = (_MALE | names.masculine).intersection(lower[: head + 1])
    female = (_FEMALE | names.feminine).intersection(lower[: head + 1])
    if bool(male) != bool(female):
        genders = frozenset((MASCULINE if male else FEMININE,))
    else:
        genders = _OF_PERSONS if entity == _PERSON else ANY_GENDER
    return Features(_number(lower, head_word, tag), genders, 3)


def read_names(masculine: str | Path, feminine: str | Path) -> Names:
    """First names by gender from two lists, a name a line; empty lines and lines that begin with # are comments.

    Names that both lists have decide nothing and are left out.

    Raises:
        AtlasError: a list cannot be read or has no name.
    """
    lists = []
    for path in (masculine, feminine):
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise AtlasError(f"{path}: this list of names cannot be read ({error}).") from error
        names = {line.strip().lower() for line in lines if line.strip() and not line.startswith("#")}
        if not names:
            raise AtlasError(f"{path}: this list has no name; give a first name a line.")
        lists.append(names)
    return Names(frozenset(lists[0] - lists[1]), frozenset(lists[1] - lists[0]))


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
        a.person == b.person and (a.number is None or b.number is None or a.number == b.number) and bool(a.genders & b.genders)
    )
