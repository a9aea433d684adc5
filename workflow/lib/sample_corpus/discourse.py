"""Plans of documents: scenarios with their cast, names drawn for each document, and the choice of lines."""

from __future__ import annotations

import functools
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_yaml
from sample_corpus.lexicon import names
from sample_corpus.notation import expand
from sample_corpus.reference import Entity

_FOLDER = Path(__file__).parent / "scenarios"
_PRONOUNS = {"woman": "she", "man": "he", "group": "they", "people": "they"}
_PROPERTY = re.compile(r"\s*\|\s*(?=(?:noun|intro|title|pronoun)=)")
_NAMED = frozenset({"person", "woman", "man", "company", "university", "town", "country", "agency"})


@dataclass(frozen=True)
class Scenario:
    """A kind of story: its cast, choices made once per document, and pools of lines, one pool per paragraph."""

    name: str
    domain: str
    tense: str
    choices: dict[str, tuple[str, ...]]
    cast: dict[str, str]
    paragraphs: tuple[tuple[str, ...], ...]


@dataclass
class Plan:
    """What one document will say: the cast with names and the lines of each paragraph, expanded."""

    scenario: Scenario
    cast: dict[str, Entity] = field(default_factory=dict)
    paragraphs: list[list[str]] = field(default_factory=list)


@functools.cache
def scenarios() -> tuple[Scenario, ...]:
    """All scenarios in the order of their files."""
    import yaml

    all_scenarios = []
    for path in sorted(_FOLDER.glob("*.yaml")):
        try:
            for entry in read_yaml(path):
                all_scenarios.append(
                    Scenario(
                        entry["name"],
                        path.stem,
                        entry.get("tense", "past"),
                        {key: tuple(part.strip() for part in text.split(",")) for key, text in entry.get("choose", {}).items()},
                        dict(entry["cast"]),
                        tuple(
                            tuple(line.strip() for line in paragraph.splitlines() if line.strip())
                            for paragraph in entry["paragraphs"]
                        ),
                    )
                )
        except (KeyError, TypeError, yaml.YAMLError) as error:
            raise AtlasError(f"{path}: cannot read this scenario file ({error}); restore it.") from error
    if not all_scenarios:
        raise AtlasError(f"{_FOLDER}: no scenario files here; restore the folder from the repository.")
    return tuple(all_scenarios)


def plan_document(rng: random.Random) -> Plan:
    """Choose a scenario, name its cast, and choose 2-4 paragraphs of 3-6 lines."""
    domain = rng.choice(sorted({scenario.domain for scenario in scenarios()}))
    plan = Plan(rng.choice([scenario for scenario in scenarios() if scenario.domain == domain]))
    scenario = plan.scenario
    variables: dict[str, str] = {}
    for name, options in scenario.choices.items():
        variables[name] = expand(rng.choice(options), variables, rng)
    used: set[str] = set()
    for key, text in scenario.cast.items():
        plan.cast[key] = _entity(key, expand(text, variables, rng), scenario.domain, rng, used)
    plan.paragraphs = [[expand(line, variables, rng) for line in lines] for lines in _choose_lines(scenario.paragraphs, rng)]
    return plan


def _choose_lines(pools: tuple[tuple[str, ...], ...], rng: random.Random) -> list[list[str]]:
    """The first pool always, then some of the others in order; within a pool the lines marked `!` and some others."""
    count = min(len(pools), rng.choice((2, 3, 3, 4)))
    chosen = [0, *sorted(rng.sample(range(1, len(pools)), count - 1))]
    paragraphs = []
    for index in chosen:
        pool = pools[index]
        required = [position for position, line in enumerate(pool) if line.startswith("! ")]
        optional = [position for position in range(len(pool)) if position not in required]
        wanted = min(max(rng.randint(3, 6), len(required)), len(pool))
        picked = sorted([*required, *rng.sample(optional, wanted - len(required))])
        paragraphs.append([pool[position].removeprefix("! ") for position in picked])
    return paragraphs


def _fresh(kind: str, rng: random.Random, used: set[str]) -> str:
    name = rng.choice([entry for entry in names()[kind] if entry not in used])
    used.add(name)
    return name


def _entity(key: str, text: str, domain: str, rng: random.Random, used: set[str]) -> Entity:
    kind, *properties = _PROPERTY.split(text)
    kind, _, sector = kind.partition(" ")
    if "|" in sector:
        raise AtlasError(f"sample scenario: cannot read @{key}: {text!r}; the properties are noun, intro, title, pronoun.")
    values = dict(part.split("=", 1) for part in properties)
    pronoun = values.get("pronoun") or _PRONOUNS.get(kind) or "it"
    if kind == "person":
        pronoun = rng.choice(("he", "she"))
    if kind == "figure":
        pronoun = values.get("pronoun") or rng.choice(("he", "she"))
    name, short = _name(kind, sector or "any", pronoun, rng, used, domain == "stories" and "title" not in values)
    entity_kind = {"woman": "person", "man": "person", "company": "org", "university": "org", "agency": "org"}
    descriptions = (values.get(part, "") for part in ("title", "noun", "intro"))
    return Entity(key, entity_kind.get(kind, kind), pronoun, name, short, *descriptions)


def _name(
    kind: str, sector: str, pronoun: str, rng: random.Random, used: set[str], first_names: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Full and short name as tuples of words (empty for those that have no name)."""
    if kind not in _NAMED:
        return (), ()
    if kind in ("person", "woman", "man"):
        first_name, family_name = _fresh("female" if pronoun == "she" else "male", rng, used), _fresh("family", rng, used)
        return (first_name, family_name), ((first_name,) if first_names else (family_name,))
    if kind == "company":
        company = (_fresh("company", rng, used), rng.choice(names()[f"business_{sector}"]))
        return company, (company[:1] if rng.random() < 0.5 else company)
    if kind == "university":
        town = _fresh("towns", rng, used)
        university = ("the", "University", "of", town) if rng.random() < 0.5 else (town, "University")
        return university, university
    if kind == "agency":
        agency = ("the", _fresh("regions", rng, used), *rng.choice(names()["agencies"]).split("_"))
        return agency, agency
    name = (_fresh("countries" if kind == "country" else "towns", rng, used),)
    return name, name
