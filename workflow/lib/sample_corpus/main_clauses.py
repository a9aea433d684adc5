"""The main clause of a sentence of the sample corpus: its verb and the phrases that depend on it, by the UD tree.

Questions, paraphrases and negations reuse the words of the phrases, so that they stay good English.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from sample_corpus.generate import Document, Mention, Sentence, Token
from sample_corpus.lexicon import lexicon

_DROPPED = frozenset({"punct", "cc", "conj", "parataxis", "cc:preconj"})
_SUBJECTS = ("nsubj", "nsubj:pass")
_AUXILIARIES = ("aux", "aux:pass")
MAIN = "main"
"""Head of the words that depend on the main verb of their text."""
ROOT = "root"


@dataclass(frozen=True)
class Word:
    """A word, whether a space follows, and its gold layers: Penn tag and Stanford relation.

    `key` names the word within a text and `head` the word that it depends on (`MAIN` for the main verb); None where unknown.
    """

    text: str
    space: bool = True
    xpos: str = ""
    relation: str = ""
    key: Hashable = field(default=None, compare=False)
    head: Hashable = field(default=None, compare=False)


@dataclass(frozen=True)
class Text:
    """A sentence: its running text, and word by word form, Penn tag, Stanford relation and head.

    A head is the place of a word, from 1; 0 for the root, None where it is unknown.
    """

    text: str
    words: tuple[str, ...]
    xpos: tuple[str, ...]
    relations: tuple[str, ...]
    heads: tuple[int | None, ...]


@dataclass(frozen=True)
class Phrase:
    """A dependent of the verb with all that depends on it: tokens start .. stop - 1 (from 0), all of one stretch."""

    relation: str
    head: int
    start: int
    stop: int


@dataclass(frozen=True)
class Clause:
    """The main clause of a sentence.

    Attributes:
        sentence: the sentence; number: its place in the document.
        verb: its main verb.
        auxiliaries: positions of its auxiliaries.
        subject: its subject.
        dependents: further dependents of the verb in order, without coordination and punctuation.
    """

    sentence: Sentence
    number: int
    verb: int
    auxiliaries: tuple[int, ...]
    subject: Phrase
    dependents: tuple[Phrase, ...]


def clause_of(sentence: Sentence, number: int) -> Clause | None:
    """The main clause; None where no question can be formed: the sentence is quoted or negated, or lacks a verb or subject."""
    tokens = sentence.tokens
    if any(t.xpos in ("``", "''", "EX") or t.lemma in ("not", "n't", "neither", "nor", "never") for t in tokens):
        return None
    verb = next(i for i, t in enumerate(tokens) if t.ud_head == 0)
    if tokens[verb].upos != "VERB" or tokens[-1].form != ".":
        return None
    below = [i for i, t in enumerate(tokens) if t.ud_head == verb + 1]
    relations = [tokens[i].ud_relation for i in below]
    if "expl" in relations or sum(r in _SUBJECTS for r in relations) != 1:
        return None
    auxiliaries = tuple(i for i in below if tokens[i].ud_relation in _AUXILIARIES)
    finite = auxiliaries[0] if auxiliaries else verb
    if tokens[finite].xpos not in ("VBD", "VBZ", "VBP", "MD"):
        return None
    phrases = []
    for i in below:
        if i not in auxiliaries and tokens[i].ud_relation not in _DROPPED:
            phrase = phrase_of(tokens, i)
            if phrase is None:
                return None
            phrases.append(phrase)
    subject = next(p for p in phrases if p.relation in _SUBJECTS)
    if subject.start > verb:
        return None
    return Clause(sentence, number, verb, auxiliaries, subject, tuple(p for p in phrases if p is not subject))


def phrase_of(tokens: Sequence[Token], head: int) -> Phrase | None:
    """The phrase of a head without the commas at its ends, None where other words stand in its midst."""
    inside = {head}
    grown = True
    while grown:
        more = {i for i, t in enumerate(tokens) if t.ud_head - 1 in inside} - inside
        inside |= more
        grown = bool(more)
    start, stop = min(inside), max(inside) + 1
    if len(inside) != stop - start:
        return None
    while tokens[start].upos == "PUNCT":
        start += 1
    while tokens[stop - 1].upos == "PUNCT":
        stop -= 1
    return Phrase(tokens[head].ud_relation, head, start, stop)


def is_plain(document: Document, clause: Clause, phrase: Phrase) -> bool:
    """Whether all pronouns of a phrase refer to the subject of the clause (a personal pronoun as object never does)."""
    tokens = clause.sentence.tokens
    subject = mention_of(document, clause, clause.subject)
    for i in range(phrase.start, phrase.stop):
        if tokens[i].xpos in ("PRP", "PRP$", "WP", "DT") and tokens[i].upos == "PRON":
            mentions = [m for m in document.mentions if (m.sentence, m.start, m.stop) == (clause.number, i, i + 1)]
            bound = tokens[i].xpos == "PRP$" or tokens[i].lemma.endswith(("self", "selves"))
            if tokens[i].xpos == "WP":
                continue
            if not bound or subject is None or not mentions or mentions[0].entity != subject.entity:
                return False
    return True


def kind_of(token: Token) -> str:
    noun = lexicon().nouns.get(token.lemma)
    return noun.kind if noun is not None and token.upos == "NOUN" else ""


def mention_of(document: Document, clause: Clause, phrase: Phrase) -> Mention | None:
    """The mention that begins where a phrase begins and holds its head, the longest of them."""
    candidates = [
        m
        for m in document.mentions
        if m.sentence == clause.number and m.start == phrase.start and m.start <= phrase.head < m.stop
    ]
    return max(candidates, key=lambda m: m.stop, default=None)


def name_of(document: Document, clause: Clause) -> tuple[Word, ...] | None:
    """The name of whom the subject, a personal pronoun, refers to; or a short phrase with "the" for what it refers to."""
    pronoun = mention_of(document, clause, clause.subject)
    if pronoun is None:
        return None
    for kind in ("proper", "nominal"):
        for mention in document.mentions:
            if mention.entity != pronoun.entity or mention.type != kind:
                continue
            sentence = document.sentences[mention.sentence]
            stop = mention.start
            while stop < mention.stop and sentence.tokens[stop].xpos.startswith("NNP"):
                stop += 1
            if kind == "proper" and stop > mention.start:
                return words_of(sentence, Phrase("", mention.start, mention.start, stop))
            short = mention.stop - mention.start <= 4 and sentence.tokens[mention.start].form in ("the", "The")
            if kind == "nominal" and short:
                return words_of(sentence, Phrase("", mention.head, mention.start, mention.stop))
    return None


def words_of(sentence: Sentence, phrase: Phrase) -> tuple[Word, ...]:
    """The words of a phrase; the first of a sentence loses its capital letter unless it is a name."""
    words = []
    for i in range(phrase.start, phrase.stop):
        token = sentence.tokens[i]
        lowered = i == 0 and token.upos != "PROPN" and token.form != "I"
        form = token.form[0].lower() + token.form[1:] if lowered else token.form
        space = token.space_after or i == phrase.stop - 1
        words.append(Word(form, space, token.xpos, token.sd_relation, (sentence.id, i), (sentence.id, token.sd_head - 1)))
    return tuple(words)


def word_of(clause: Clause, place: int) -> Word:
    return words_of(clause.sentence, Phrase("", place, place, place + 1))[0]


def inverted(clause: Clause, name: Sequence[Word]) -> tuple[Word, ...]:
    """The first auxiliary, or a form of "do", then the subject, and the verb with what stands between."""
    tokens = clause.sentence.tokens
    between = [p for p in clause.dependents if clause.subject.stop <= p.start and p.stop <= clause.verb]
    middle = {p.start: words_of(clause.sentence, p) for p in between}
    middle |= {i: (word_of(clause, i),) for i in clause.auxiliaries[1:]}
    if clause.auxiliaries:
        first, verb = word_of(clause, clause.auxiliaries[0]), word_of(clause, clause.verb)
    else:
        xpos = tokens[clause.verb].xpos
        first = Word({"VBD": "did", "VBZ": "does", "VBP": "do"}[xpos], xpos=xpos, relation="aux", head=MAIN)
        verb = replace(word_of(clause, clause.verb), text=tokens[clause.verb].lemma, xpos="VB")
    return (first, *name, *(w for place in sorted(middle) for w in middle[place]), verb)


def rest(clause: Clause, questioned: Phrase | None = None, remainder: Sequence[Word] = ()) -> tuple[Word, ...]:
    """The phrases after the verb, then those before the subject, without the questioned one, of which `remainder` stays."""
    after = [p for p in clause.dependents if p.start > clause.verb and p is not questioned]
    before = [p for p in clause.dependents if p.stop <= clause.subject.start and p is not questioned]
    return (*remainder, *(w for p in (*after, *before) for w in words_of(clause.sentence, p)))


def plain_text(words: Sequence[Word]) -> str:
    """Running text of words."""
    return "".join(word.text + (" " if word.space else "") for word in words).strip()


def text_of(words: Sequence[Word], mark: str) -> Text:
    """A sentence of words, with a capital letter and a mark at its end."""
    first, *following = words
    capital = replace(first, text=first.text[0].upper() + first.text[1:])
    last = Word(mark, False, ".", "punct", head=MAIN)
    closed = [capital, *following]
    closed[-1] = replace(closed[-1], space=False)
    all_words = (*closed, last)
    forms, xpos, relations = (tuple(getattr(word, name) for word in all_words) for name in ("text", "xpos", "relation"))
    return Text(plain_text(all_words), forms, xpos, relations, _heads(all_words))


def _heads(words: Sequence[Word]) -> tuple[int | None, ...]:
    """The head of each word; a phrase of another sentence depends on the main verb, as it did there."""
    roots = [place for place, word in enumerate(words, start=1) if word.relation == ROOT]
    main = roots[0] if len(roots) == 1 else None
    places = {word.key: place for place, word in enumerate(words, start=1) if word.key is not None}
    return tuple(0 if word.relation == ROOT else None if word.head is None else places.get(word.head, main) for word in words)
