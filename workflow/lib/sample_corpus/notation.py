"""The notation in which scenarios are written: near-English lines that expand to a small tree of tokens.

* ``{old,narrow} bridge`` chooses one alternative (empty ones allowed), ``$thing`` inserts a choice made once per document,
  ``#20-60/5`` a number from 20 to 60 in steps of 5.
* ``|`` separates subject, verb group and complements; ``&&`` starts a further verb phrase with the same subject.
* ``( )`` a complement clause, ``[ ]`` a modifier of the noun before it, ``< >`` an adverbial clause.
* ``@name`` refers to a member of the cast; how it is worded (name, description, pronoun) depends on the discourse.
* ``t:`` starts a noun phrase of time, ``m:`` one of measure (both used as adverbials).
* a segment starting with ``^`` may be fronted, with ``^^`` it always is, with ``?`` it is optional.

A verb segment is a lemma with its particle, after markers: a modal, ``not``, an adverb, ``perf``, ``prog``, ``pass``,
``pres``, ``past``; ``lemma^`` may become passive, ``lemma%`` has a recipient and takes either order. Modifiers of nouns
start with ``who``/``which``/``that``/``whose`` (``that : S`` when the subject follows, ``: S`` without relative word),
``to``, ``ing``, ``ed``, ``= NP`` (apposition), ``comp S`` (that-clause of a noun), ``adj``, ``paren``; a leading comma
makes them non-restrictive. Complements start with ``that``, ``whether``, ``to``, ``ing`` or a wh-word, adverbial clauses
with their conjunction, ``to`` (purpose), ``ing`` or ``ed``. ``it!`` is the expletive, ``@name!`` asks for a pronoun;
a pronoun of the third person in a line refers to the subject of its clause.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from attention_atlas.errors import AtlasError

_CLOSING = {"(": ")", "[": "]", "<": ">"}
_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"#(\d+)-(\d+)(?:/(\d+))?")
_EXACT = re.compile(r"(\$|(January|February|March|April|May|June|July|August|September|October|November|December) )$")
_SMALL_NUMBERS = "zero one two three four five six seven eight nine ten".split()
_VARIABLE = re.compile(r"\$([a-z_]+)")
_TOKEN = re.compile(r"[()\[\]<>|:]|&&|\^\^|\^|\?(?=\S)|[tm]:|[^\s()\[\]<>|:]+")


@dataclass(frozen=True)
class Group:
    """A bracketed part: `kind` is its opening bracket."""

    kind: str
    items: tuple[Item, ...]


Item = str | Group


def expand(text: str, variables: dict[str, str], rng: random.Random) -> str:
    """Choose the alternatives of `text` and insert the variables."""
    for _ in range(50):
        text, chosen = _ALTERNATIVES.subn(lambda match: rng.choice(match.group(1).split(",")).strip(), text)
        text, inserted = _VARIABLE.subn(lambda match: _variable(match.group(1), variables), text)
        if not chosen and not inserted:
            break
    text = _RANGE.sub(lambda match: _number(match, rng), text)
    if "{" in text or "}" in text:
        raise AtlasError(f"sample scenario: a brace has no partner in {text!r}; write alternatives as {{one,two}}.")
    return " ".join(text.split())


def _number(match: re.Match[str], rng: random.Random) -> str:
    low, high, step = int(match.group(1)), int(match.group(2)), int(match.group(3) or 1)
    value = rng.randrange(low, high + 1, step)
    exact = _EXACT.search(match.string[: match.start()])
    return str(value) if exact or value >= len(_SMALL_NUMBERS) else _SMALL_NUMBERS[value]


def _variable(name: str, variables: dict[str, str]) -> str:
    if name not in variables:
        raise AtlasError(f"sample scenario: unknown variable ${name}; define it under `choose` of the scenario.")
    return variables[name]


def parse(text: str) -> tuple[Item, ...]:
    """Token tree of an expanded line."""
    stack: list[tuple[str, list[Item]]] = [("", [])]
    for token in _tokens(text):
        if token in _CLOSING:
            stack.append((token, []))
        elif token in _CLOSING.values():
            kind, items = stack.pop()
            if _CLOSING.get(kind) != token:
                raise AtlasError(f"sample scenario: unmatched {token!r} in {text!r}; close every bracket once.")
            while items and items[-1] == ",":
                items.pop()
            stack[-1][1].append(Group(kind, tuple(items)))
        else:
            stack[-1][1].append(token)
    if len(stack) != 1:
        raise AtlasError(f"sample scenario: {stack[-1][0]!r} is never closed in {text!r}.")
    return tuple(stack[0][1])


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    for token in _TOKEN.findall(text):
        trailing = []
        while len(token) > 1 and token.endswith((",", ";")):
            trailing.append(token[-1])
            token = token[:-1]
        if token.endswith("'s") and len(token) > 2:
            tokens += [token[:-2], "'s"]
        elif token.endswith("s'"):
            tokens += [token[:-1], "'"]
        else:
            tokens.append(token)
        tokens += reversed(trailing)
    return tokens


def split(items: tuple[Item, ...], mark: str) -> list[tuple[Item, ...]]:
    """Cut `items` at every top-level `mark`."""
    parts: list[list[Item]] = [[]]
    for item in items:
        if item == mark:
            parts.append([])
        else:
            parts[-1].append(item)
    return [tuple(part) for part in parts]
