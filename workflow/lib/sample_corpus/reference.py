"""Discourse entities and how they are mentioned: full name, short name, description or pronoun."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from attention_atlas.errors import AtlasError

ENTITY_TYPES = {"person": "PERSON", "org": "ORG", "town": "GPE", "country": "GPE", "river": "LOC", "site": "FAC"}


@dataclass
class Entity:
    """A member of the cast.

    `pronoun` is the nominative (he, she, it, they); `name` the words of the full name or empty; `short` the words used
    after the first mention; `noun` the description used after "the"; `intro` the notation of the first description.
    """

    key: str
    kind: str
    pronoun: str
    name: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    title: str = ""
    noun: str = ""
    intro: str = ""

    @property
    def plural(self) -> bool:
        """Whether it takes plural agreement."""
        return self.pronoun == "they"


@dataclass(frozen=True)
class Reference:
    """A mention still to be worded: which entity, in which case, and what the place allows.

    `subject` is True for the subject of a finite clause, `clause_subject` the entity that is subject of the clause;
    `modified` forbids pronouns (something follows that modifies the mention); `plain` forbids an apposition; `forced` asks
    for a pronoun.
    """

    entity: str
    case: str
    subject: bool = False
    clause_subject: str = ""
    modified: bool = False
    plain: bool = False
    speaker: str = ""
    addressee: str = ""
    forced: bool = False


@dataclass
class Recent:
    """What one sentence mentioned: entities of the cast with their pronouns, and those that were subjects."""

    entities: dict[str, str] = field(default_factory=dict)
    subjects: list[str] = field(default_factory=list)


@dataclass
class Discourse:
    """Memory of one document: who was introduced, what the last two sentences mentioned, chains of other nouns."""

    cast: dict[str, Entity]
    domain: str
    introduced: set[str] = field(default_factory=set)
    described: set[str] = field(default_factory=set)
    current: Recent = field(default_factory=Recent)
    previous: Recent = field(default_factory=Recent)
    pronoun_run: dict[str, int] = field(default_factory=dict)
    known_nouns: dict[str, str] = field(default_factory=dict)
    sentence: int = 0
    opens_paragraph: bool = True
    counter: int = 0

    def entity(self, key: str) -> Entity:
        """A member of the cast."""
        if key not in self.cast:
            raise AtlasError(f"sample scenario: @{key} is not in the cast; define it under `cast`.")
        return self.cast[key]

    def next_sentence(self) -> None:
        """Forget all but the sentence just finished."""
        self.previous, self.current = self.current, Recent()
        self.sentence += 1
        self.opens_paragraph = False

    def next_paragraph(self) -> None:
        """A paragraph begins with full mentions."""
        self.previous, self.current = Recent(), Recent()
        self.opens_paragraph = True

    def note(self, entity: Entity, reference: Reference) -> None:
        """Record a mention that has just been worded."""
        self.introduced.add(entity.key)
        self.current.entities.pop(entity.key, None)
        self.current.entities[entity.key] = entity.pronoun
        if reference.subject:
            self.current.subjects.append(entity.key)

    def note_noun(self, key: str, definite: bool) -> str:
        """Identifier of the entity of an ordinary noun phrase: "the bridge" continues an earlier "a bridge"."""
        if definite and key in self.known_nouns:
            return self.known_nouns[key]
        self.counter += 1
        self.known_nouns[key] = f"n{self.counter}"
        return self.known_nouns[key]

    def pronoun_is_clear(self, entity: Entity, reference: Reference) -> bool:
        """Whether a pronoun would be understood: mentioned lately, and no rival in the current or last sentence."""
        near = entity.key in self.current.entities or entity.key in self.previous.entities
        if not near:
            return False
        if reference.case == "poss" and reference.clause_subject == entity.key:
            return True
        rivals = sum(
            1
            for recent in (self.current, self.previous)
            for key, pronoun in recent.entities.items()
            if key != entity.key and pronoun == entity.pronoun
        )
        central = reference.subject and self._topic() == entity.key
        if entity.pronoun in ("it", "they"):
            return central and rivals == 0 and not self.current.entities
        latest = next(reversed(self.current.entities), "")
        if rivals == 0 or latest == entity.key:
            return True
        return central and not self.current.entities

    def _topic(self) -> str:
        return self.previous.subjects[0] if self.previous.subjects else ""


def wording(entity: Entity, reference: Reference, discourse: Discourse, rng: random.Random) -> str:
    """How to word a mention: "I", "you", "pronoun", "reflexive", "intro", "short" or "noun"."""
    if reference.speaker == entity.key:
        return "I"
    if reference.addressee == entity.key:
        return "you"
    if reference.forced:
        return "pronoun"
    if reference.case == "acc" and reference.clause_subject == entity.key and not reference.modified:
        return "pronoun"
    if entity.key not in discourse.introduced:
        return "intro"
    if not reference.modified and discourse.pronoun_is_clear(entity, reference):
        run = discourse.pronoun_run.get(entity.key, 0)
        within = entity.key in discourse.current.entities
        if within or rng.random() < (0.9 if run == 0 else 0.7 if run == 1 else 0.4 if run == 2 else 0.15):
            return "pronoun"
    if entity.key not in discourse.described and entity.intro and not reference.plain and not reference.modified:
        return "intro"
    described = entity.key in discourse.described or bool(entity.title)
    choices = (["short"] * 3 if entity.name else []) + (["noun"] if entity.noun and described else [])
    if entity.kind == "org" and entity.noun and described:
        choices = ["short", "noun"] if entity.name else ["noun"]
    return rng.choice(choices or ["intro"])
