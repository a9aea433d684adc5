"""Words and their forms: the lexicon files, English inflection, and the closed classes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_yaml

_FOLDER = Path(__file__).parent / "lexicon"
_VOWELS = "aeiou"

PREPOSITIONS = frozenset(
    "about above across after against along among around as at before behind below beneath beside between beyond by "
    "despite during for from in inside into like near of off on onto outside over past since than through throughout to "
    "toward towards under until with within without upon".split()
)
PARTICLES = frozenset("up down out off in on over away back along around apart by through aside".split())
DETERMINERS = frozenset("a an the this that these those some any every each no another".split())
PLURAL_DETERMINERS = frozenset("these those both all several few many".split())
QUANTITY_ADJECTIVES = frozenset("several few many much more fewer most other same own such".split())
APPROXIMATORS = frozenset("about nearly almost roughly around over".split())
LINKING_VERBS = frozenset("seem become look feel remain stay grow turn sound taste smell get prove".split())
NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen".split()
)
ORDINALS = frozenset("first second third fourth fifth sixth seventh tenth".split())
ADVERBIAL_PROFORMS = frozenset("here there everywhere nowhere somewhere home upstairs outside inside abroad".split())

# case, person, number, gender -> form: (nominative, accusative, possessive determiner, reflexive)
PRONOUNS = {
    "I": ("I", "me", "my", "myself"),
    "you": ("you", "you", "your", "yourself"),
    "he": ("he", "him", "his", "himself"),
    "she": ("she", "her", "her", "herself"),
    "it": ("it", "it", "its", "itself"),
    "we": ("we", "us", "our", "ourselves"),
    "they": ("they", "them", "their", "themselves"),
}
INDEFINITE_PRONOUNS = frozenset(
    "everyone someone nobody nothing something everything anyone anything everybody somebody none".split()
)

_BE = {"VB": "be", "VBZ": "is", "VBP": "are", "VBD": "was", "VBN": "been", "VBG": "being"}
MODALS = frozenset("will would can could may might must should".split())
PAST_MODALS = {"will": "would", "can": "could", "may": "might"}
_NEGATIVE_CONTRACTION = {"will": "wo", "can": "ca", "shall": "sha"}
_NO_CONTRACTION = frozenset({"may", "might", "am"})


@dataclass(frozen=True)
class Verb:
    """A verb lemma with its irregular forms and the names of its roles (subject, object, further complement)."""

    lemma: str
    past: str
    participle: str
    gerund: str
    third: str
    roles: tuple[str, ...]


@dataclass(frozen=True)
class Noun:
    """A noun form: its lemma, whether it is plural, and its selectional class (person, place, time ...)."""

    form: str
    lemma: str
    plural: bool
    kind: str


@dataclass(frozen=True)
class Adjective:
    """An adjective form with its tag (JJ, JJR, JJS, or VBG/VBN for participles) and lemma; `graded` when it has a
    comparative form."""

    form: str
    lemma: str
    xpos: str
    graded: bool = False


@dataclass(frozen=True)
class Lexicon:
    """All open-class words, indexed by form (verbs by lemma)."""

    nouns: dict[str, Noun]
    verbs: dict[str, Verb]
    adjectives: dict[str, Adjective]
    adverbs: dict[str, tuple[str, str]]
    proper: dict[str, str]


def _sibilant(stem: str) -> bool:
    return stem.endswith(("s", "x", "z", "ch", "sh"))


def plural_of(noun: str) -> str:
    """Regular plural."""
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if _sibilant(noun) else "s")


def third_of(verb: str) -> str:
    """Third person singular of the present."""
    return "has" if verb == "have" else verb + "es" if verb in ("do", "go", "echo", "veto") else plural_of(verb)


def _doubles(verb: str) -> bool:
    vowels = sum(letter in _VOWELS for letter in verb)
    # One syllable, consonant-vowel-consonant.
    return len(verb) > 2 and vowels == 1 and verb[-1] not in _VOWELS + "wxyh" and verb[-2] in _VOWELS


def _past(verb: str, double: bool) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return verb + (verb[-1] if double else "") + "ed"


def past_of(verb: str) -> str:
    """Regular past."""
    return _past(verb, _doubles(verb))


def _gerund(verb: str, double: bool) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return verb + (verb[-1] if double else "") + "ing"


def _verb(entry: str, roles: tuple[str, ...]) -> Verb:
    parts = entry.split("/")
    doubled = parts[0].endswith("~")
    lemma = parts[0].rstrip("~")
    double = doubled or _doubles(lemma)
    past = parts[1] if len(parts) > 1 else _past(lemma, double)
    participle = parts[2] if len(parts) > 2 else past
    return Verb(lemma, past, participle, _gerund(lemma, double), third_of(lemma), roles)


def _compare(adjective: str, ending: str) -> str:
    if adjective.endswith("e"):
        return adjective + ending[1:]
    if adjective.endswith("y") and adjective[-2] not in _VOWELS:
        return adjective[:-1] + "i" + ending
    return adjective + (adjective[-1] if _doubles(adjective) else "") + ending


@functools.cache
def read_lexicon_file(name: str) -> Any:
    """The content of a file of the lexicon, read once per process."""
    import yaml

    path = _FOLDER / name
    try:
        return read_yaml(path)
    except (OSError, yaml.YAMLError) as error:
        raise AtlasError(f"{path}: cannot read this lexicon file ({error}); restore it from the repository.") from error


@functools.cache
def lexicon() -> Lexicon:
    """The lexicon, read once per process."""
    data = read_lexicon_file("words.yaml")
    nouns: dict[str, Noun] = {}
    for kind, entries in data["nouns"].items():
        for entry in entries.split():
            singular, _, plural = entry.partition("/")
            nouns[plural or plural_of(singular)] = Noun(plural or plural_of(singular), singular, True, kind)
            nouns[singular] = Noun(singular, singular, False, kind)
    for entry in data["plural_only"].split():
        nouns[entry] = Noun(entry, entry, True, "plural_only")
    verbs: dict[str, Verb] = {}
    for roles, entries in data["verbs"].items():
        for entry in entries.split():
            verb = _verb(entry, tuple(roles.split()))
            verbs.setdefault(verb.lemma, verb)
    adjectives: dict[str, Adjective] = {}
    for entry in data["adjectives"].split():
        lemma, graded = entry.rstrip("+"), entry.endswith("+")
        adjectives[lemma] = Adjective(lemma, lemma, "JJ", graded)
        if graded:
            for ending, xpos in (("er", "JJR"), ("est", "JJS")):
                form = _compare(lemma, ending)
                adjectives[form] = Adjective(form, lemma, xpos)
    for entry in data["irregular_adjectives"].split():
        lemma, comparative, superlative = entry.split("/")
        for form, xpos in ((lemma, "JJ"), (comparative, "JJR"), (superlative, "JJS")):
            adjectives[form] = Adjective(form, lemma, xpos)
    for xpos in ("VBG", "VBN"):
        for entry in data["participles"][xpos].split():
            form, lemma = entry.split("=")
            adjectives[form] = Adjective(form, lemma, xpos)
    for form in ORDINALS | QUANTITY_ADJECTIVES:
        adjectives.setdefault(form, Adjective(form, form, "JJ"))
    adverbs = {entry: (entry, "RB") for entry in data["adverbs"].split()}
    for entry in data["irregular_adverbs"].split():
        form, lemma, xpos = entry.split("/")
        adverbs[form] = (lemma, xpos)
    proper = {form: kind for kind, forms in data["proper"].items() for form in forms.split()}
    return Lexicon(nouns, verbs, adjectives, adverbs, proper)


@dataclass(frozen=True)
class Collocations:
    """What commonly stands together: noun lemma -> (adjectives, nouns), verb lemma -> adverbs, near-synonyms by part of
    speech, connecting adverbials, adverbials of time and circumstances of speech by domain."""

    nouns: dict[str, tuple[list[str], list[str]]]
    verbs: dict[str, list[str]]
    synonyms: dict[str, dict[str, list[str]]]
    adverbials: dict[str, list[str]]
    moments: dict[str, list[str]]
    attributions: dict[str, list[str]]


@functools.cache
def collocations() -> Collocations:
    """The collocations, read once per process."""
    data = read_lexicon_file("collocations.yaml")
    nouns = {}
    for lemma, text in data["nouns"].items():
        adjectives, _, compounds = text.partition("|")
        nouns[lemma] = (adjectives.split(), compounds.split())
    synonyms = {
        kind: {form: entry.split() for entry in entries for form in entry.split()} for kind, entries in data["synonyms"].items()
    }
    verbs = {lemma: text.split() for lemma, text in data["verbs"].items()}
    by_domain = {
        key: {domain: [part.strip() for part in text.split("|")] for domain, text in data[key].items()}
        for key in ("adverbials", "moments", "attributions")
    }
    return Collocations(nouns, verbs, synonyms, **by_domain)


@functools.cache
def names() -> dict[str, list[str]]:
    """Lists of given names, surnames, towns and parts of organisation names."""
    return {kind: entries.split() for kind, entries in read_lexicon_file("names.yaml").items()}


def find_verb(lemma: str) -> Verb:
    """The entry of a verb lemma."""
    verb = lexicon().verbs.get(lemma)
    if verb is None:
        raise AtlasError(f"sample lexicon: the verb {lemma!r} is missing; add it to lexicon/words.yaml.")
    return verb


def verb_form(lemma: str, tag: str, person: int = 3, plural: bool = False) -> str:
    """The form of a verb for a Penn Treebank tag; person and number matter for "be" only."""
    if lemma == "be":
        if tag == "VBD":
            return "were" if plural or person == 2 else "was"
        if tag == "VBP":
            return "am" if person == 1 and not plural else "are"
        return _BE[tag]
    verb = find_verb(lemma)
    inflected = {"VBZ": verb.third, "VBD": verb.past, "VBN": verb.participle, "VBG": verb.gerund}
    return inflected.get(tag, verb.lemma)


def contracted_stem(form: str) -> str | None:
    """The form of an auxiliary before "n't", or None where English has no such contraction."""
    return None if form in _NO_CONTRACTION else _NEGATIVE_CONTRACTION.get(form, form)
