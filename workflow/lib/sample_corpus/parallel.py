"""Parallel English and French sentences of one grammar: a small model learns to translate them, but not word by word.

French differs in the order of words (adjectives, object pronouns, negation in two parts, adverbs), in agreement by gender and
number, and in forms that depend on the next word (l', vieil, du), so that what a model writes depends on distant words.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sample_corpus.lexicon import past_of, plural_of, read_lexicon_file, third_of


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; `living` decides which adjectives go with it."""

    one: str
    many: str
    french: str
    french_many: str
    feminine: bool
    living: bool


@dataclass(frozen=True)
class Adjective:
    """An adjective; `first` says that it stands before the noun in French, `vowel` is its masculine before a vowel."""

    english: str
    masculine: str
    feminine: str
    vowel: str
    first: bool


@dataclass(frozen=True)
class Verb:
    """A verb in the present (base, third person) and the past, and its French forms; `be` takes être in the past."""

    base: str
    third: str
    past: str
    french_one: str
    french_many: str
    participle: str
    be: bool = False


@dataclass(frozen=True)
class Words:
    """Words in both languages, with number and gender where they are a noun phrase."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    plural: bool = False
    feminine: bool = False


@dataclass(frozen=True)
class _Lexicon:
    nouns: dict[str, list[Noun]]
    adjectives: dict[bool, list[Adjective]]
    transitive: list[Verb]
    intransitive: list[Verb]
    prepositions: list[tuple[str, str]]
    companions: list[tuple[str, str]]
    between: list[tuple[str, str]]
    last: list[tuple[str, str]]


def parallel_lines(count: int, seed: int, start: int = 0) -> Iterator[str]:
    """Pairs as one JSON object per line, {"en": ..., "fr": ...}; no English sentence comes twice.

    The first `start` pairs of this seed are skipped, so that two files have none in common.
    """
    rng, words, seen = random.Random(f"parallel-{seed}"), _lexicon(), set[str]()
    while len(seen) < start + count:
        pair = _sentence(words, rng)
        if pair[0] not in seen:
            seen.add(pair[0])
            if len(seen) > start:
                yield json.dumps(dict(zip(("en", "fr"), pair, strict=True)), ensure_ascii=False) + "\n"


def _sentence(words: _Lexicon, rng: random.Random) -> tuple[str, str]:
    past, interrogative = rng.random() < 0.4, rng.random() < 0.12
    denial = rng.choices(("", "not", "never"), (0.72, 0.18, 0.1))[0]
    adverb = rng.choice(words.between) if not denial and rng.random() < 0.2 else None
    subject = _subject(words, rng)
    verb = rng.choice(words.transitive if rng.random() < 0.65 else words.intransitive)
    english, french = _clause(words, verb, subject, past, denial, adverb, interrogative, rng)
    if rng.random() < 0.45:
        where = _place(words, rng)
        english, french = (*english, *where.english), (*french, *where.french)
    if rng.random() < 0.2:
        english_adverb, french_adverb = rng.choice(words.last)
        english, french = (*english, *english_adverb.split("_")), (*french, *french_adverb.split("_"))
    if interrogative:
        return _text(english, "?"), _text(_joined(("est-ce", "que", *french)), " ?")
    return _text(english, "."), _text(_joined(french), ".")


def _clause(
    words: _Lexicon,
    verb: Verb,
    subject: Words,
    past: bool,
    denial: str,
    adverb: tuple[str, str] | None,
    interrogative: bool,
    rng: random.Random,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Subject, verb and object in both languages."""
    clitic, after = None, Words((), ())
    if verb in words.transitive:
        if rng.random() < 0.2:
            english, french = rng.choice((("him", "le"), ("her", "la"), ("them", "les")))
            clitic, after = french, Words((english,), ())
        else:
            after = _noun_phrase(words, rng.choice(("person", "animal", "thing")), rng)
    middle = (adverb[0],) if adverb else ("never",) if denial == "never" else ()
    helped = interrogative or denial == "not"
    form = verb.base if helped or (subject.plural and not past) else verb.past if past else verb.third
    helper = ("did" if past else "do" if subject.plural else "does",) if helped else ()
    parts = tuple(form.split("_"))
    if interrogative:
        no = ("not",) if denial == "not" else ()
        english_words = (*helper, *subject.english, *no, *middle, *parts)
    elif denial == "not":
        english_words = (*subject.english, *helper, "not", *parts)
    else:
        english_words = (*subject.english, *middle, *parts)
    french_words = (*subject.french, *_french_verb(verb, subject, past, denial, adverb, clitic))
    return (*english_words, *after.english), (*french_words, *after.french)


def _french_verb(
    verb: Verb, subject: Words, past: bool, denial: str, adverb: tuple[str, str] | None, clitic: str | None
) -> tuple[str, ...]:
    """The verb with what stands around it: ne, an object pronoun, the finite form, pas or jamais, and the participle."""
    second = {"not": ("pas",), "never": ("jamais",), "": (adverb[1],) if adverb else ()}[denial]
    before = (*(("ne",) if denial else ()), *((clitic,) if clitic else ()))
    if not past:
        return (*before, verb.french_many if subject.plural else verb.french_one, *second)
    if verb.be:
        helper, feminine, plural = ("sont" if subject.plural else "est"), subject.feminine, subject.plural
    else:
        helper, feminine, plural = ("ont" if subject.plural else "a"), clitic == "la", clitic == "les"
    return (*before, helper, *second, verb.participle + ("e" if feminine else "") + ("s" if plural else ""))


def _subject(words: _Lexicon, rng: random.Random) -> Words:
    draw = rng.random()
    if draw < 0.12:
        english, french = rng.choice((("he", "il"), ("she", "elle"), ("they", "ils")))
        return Words((english,), (french,), english == "they", english == "she")
    kind = "person" if rng.random() < 0.7 else "animal"
    first = _noun_phrase(words, kind, rng)
    if draw < 0.22:
        second = _noun_phrase(words, kind, rng)
        both = (*first.english, "and", *second.english), (*first.french, "et", *second.french)
        return Words(*both, plural=True, feminine=first.feminine and second.feminine)
    if draw < 0.36:
        verb, object_ = rng.choice(words.transitive), _noun_phrase(words, "thing", rng)
        form = verb.base if first.plural else verb.third
        french_form = verb.french_many if first.plural else verb.french_one
        english_clause = ("who" if kind == "person" else "that", *form.split("_"), *object_.english)
        french_clause = ("qui", french_form, *object_.french)
        return replace(first, english=(*first.english, *english_clause), french=(*first.french, *french_clause))
    return first


def _place(words: _Lexicon, rng: random.Random) -> Words:
    """A preposition with a place or a companion."""
    company = rng.random() < 0.25
    english, french = rng.choice(words.companions if company else words.prepositions)
    phrase = _noun_phrase(words, "person" if company else "place", rng)
    return Words((*english.split("_"), *phrase.english), (*french.split("_"), *phrase.french))


def _noun_phrase(words: _Lexicon, kind: str, rng: random.Random) -> Words:
    noun = rng.choice(words.nouns[kind])
    plural = rng.random() < 0.3
    adjective = rng.choice(words.adjectives[noun.living]) if rng.random() < 0.4 else None
    article = rng.choice(("the", "the", "a", "this", "my", "two") if plural else ("the", "the", "a", "this", "my"))
    name = noun.many if plural else noun.one
    following = (adjective.english, name) if adjective else (name,)
    determiners = {
        "a": () if plural else ("an" if following[0][0] in "aeiou" else "a",),
        "this": ("these" if plural else "this",),
    }
    english_words = (*determiners.get(article, (article,)), *following)
    return Words(english_words, _french_phrase(noun, adjective, article, plural), plural, noun.feminine)


def _french_phrase(noun: Noun, adjective: Adjective | None, article: str, plural: bool) -> tuple[str, ...]:
    name = noun.french_many if plural else noun.french
    following: tuple[str, ...] = (name,)
    first = False
    if adjective is not None:
        first = adjective.first
        form = adjective.feminine if noun.feminine else adjective.masculine
        if not noun.feminine and first and not plural and _is_vowel(name):
            form = adjective.vowel
        form = _french_plural(form) if plural else form
        following = (form, name) if first else (name, form)
    vowel = _is_vowel(following[0])
    if plural:
        # Before an adjective "des" is "de".
        word = {"the": "les", "a": "de" if first else "des", "this": "ces", "my": "mes", "two": "deux"}[article]
    elif noun.feminine:
        word = {"the": "la", "a": "une", "this": "cette", "my": "mon" if vowel else "ma"}[article]
    else:
        word = {"the": "le", "a": "un", "this": "cet" if vowel else "ce", "my": "mon"}[article]
    return (word, *following)


def _french_plural(form: str) -> str:
    return form if form[-1] in "sx" else form + ("x" if form.endswith("eau") else "s")


def _is_vowel(word: str) -> bool:
    """Whether a word begins with a vowel, or with an h, which no word of the lexicon sounds."""
    return unicodedata.normalize("NFD", word)[0] in "aeiouyhœ"


def _joined(words: Sequence[str]) -> list[str]:
    """French words with elision (l'école, n'aime) and contraction (du jardin, aux écoles)."""
    # "près de" takes no article of the indefinite plural.
    without_article = [
        word for place, word in enumerate(words) if not (word in ("de", "des") and place and words[place - 1] == "de")
    ]
    elided = []
    for word, following in zip(without_article, [*without_article[1:], ""], strict=True):
        elide = word in ("le", "la", "de", "ne", "que") and following and _is_vowel(following)
        elided.append(word[:-1] + "'" if elide else word)
    contracted: list[str] = []
    for word in elided:
        before = contracted[-1] if contracted else ""
        if before in ("de", "à") and word in ("le", "les"):
            contracted[-1] = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}[before, word]
        elif before.endswith("'"):
            contracted[-1] = before + word
        else:
            contracted.append(word)
    return contracted


def _text(words: Sequence[str], mark: str) -> str:
    text = " ".join(words)
    return text[0].upper() + text[1:] + mark


def _lexicon() -> _Lexicon:
    data = read_lexicon_file("translation.yaml")
    living = {"person": True, "animal": True, "thing": False, "place": False}
    nouns = {kind: [_noun(entry, living[kind]) for entry in data["nouns"][kind].split()] for kind in living}
    adjectives: dict[bool, list[Adjective]] = {True: [], False: []}
    for order, groups in data["adjectives"].items():
        for group, entries in groups.items():
            group_adjectives = [_adjective(entry, order == "first") for entry in entries.split()]
            for is_living in adjectives:
                adjectives[is_living] += group_adjectives if group in ("any", "living" if is_living else "lifeless") else []
    verbs = {kind: [_verb(entry, kind == "none_with_be") for entry in text.split()] for kind, text in data["verbs"].items()}
    listed = (data["prepositions"], data["companions"], data["adverbs"]["between"], data["adverbs"]["last"])
    intransitive = [*verbs["none"], *verbs["none_with_be"]]
    return _Lexicon(nouns, adjectives, verbs["object"], intransitive, *map(_pairs, listed))


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(english, french) for english, french in (entry.split("=") for entry in text.split())]


def _noun(entry: str, living: bool) -> Noun:
    english, _, rest = entry.partition("=")
    french, _, gender = rest.partition(":")
    one, _, many = english.partition("/")
    french_one, _, french_many = french.partition("/")
    return Noun(one, many or plural_of(one), french_one, french_many or french_one + "s", gender == "f", living)


def _adjective(entry: str, first: bool) -> Adjective:
    english, _, french = entry.partition("=")
    masculine, feminine, *vowel = french.split("/")
    return Adjective(english, masculine, feminine, vowel[0] if vowel else masculine, first)


def _verb(entry: str, be: bool) -> Verb:
    english, _, french = entry.partition("=")
    base, _, past = english.partition("/")
    first, *rest = base.split("_")
    tail = "".join(f"_{word}" for word in rest)
    singular, plural, participle = french.split("/")
    return Verb(base, third_of(first) + tail, past or past_of(first) + tail, singular, plural, participle, be)
