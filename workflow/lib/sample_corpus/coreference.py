"""Coreference files of the sample corpus: CoNLL-2012 columns, and passages with an ambiguous pronoun in the form of GAP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from nltk import Tree

from sample_corpus.generate import Document, Mention, Sentence

_PRONOUNS = {"he": {"he", "him", "his"}, "she": {"she", "her", "hers"}}
_GAP_COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL")
_REACH = 4
"""Most sentences of a passage."""


def conll2012_lines(documents: Iterable[Document]) -> Iterator[str]:
    """Documents in the twelve columns of CoNLL-2012; singletons are omitted, as in OntoNotes."""
    for document in documents:
        yield f"#begin document ({document.id}); part 000\n"
        chains = {entity: k for k, entity in enumerate(dict.fromkeys(m.entity for m in document.mentions if not m.singleton))}
        for number, sentence in enumerate(document.sentences):
            chained = [m for m in document.mentions if m.sentence == number and not m.singleton]
            marks = _marks(chained, chains, len(sentence.tokens))
            bits = parse_bits(sentence)
            rows = zip(sentence.tokens, bits, entity_bits(sentence), marks, strict=True)
            for place, (token, bit, entity, mark) in enumerate(rows):
                # Lemma, frame, sense and speaker are not part of this file.
                columns = (document.id, "0", str(place), token.form, token.xpos, bit, *["-"] * 4, entity, mark)
                yield "\t".join(columns) + "\n"
            yield "\n"
        yield "#end document\n"


def parse_bits(sentence: Sentence) -> list[str]:
    """The parse bit of each word: brackets that open before it, an asterisk, brackets that close after it."""
    tree = Tree.fromstring(sentence.brackets)
    opening: list[str] = [""] * len(sentence.tokens)
    closing: list[str] = [""] * len(sentence.tokens)

    def walk(node: Tree, place: int) -> int:
        if len(node) == 1 and isinstance(node[0], str):
            return place + 1
        opening[place] += f"({node.label()}"
        end = place
        for child in node:
            end = walk(child, end)
        closing[end - 1] = ")" + closing[end - 1]
        return end

    walk(tree, 0)
    return [f"{before}*{after}" for before, after in zip(opening, closing, strict=True)]


def entity_bits(sentence: Sentence) -> list[str]:
    """The entity bit of each word: (TYPE before the first word of a named entity, ) after its last, else an asterisk."""
    opening, closing = [""] * len(sentence.tokens), [""] * len(sentence.tokens)
    # Longer entities open first and close last.
    for entity in sorted(sentence.entities, key=lambda e: (e.start, -e.stop)):
        opening[entity.start] += f"({entity.type}"
        closing[entity.stop - 1] += ")"
    return [f"{before}*{after}" for before, after in zip(opening, closing, strict=True)]


def _marks(mentions: Sequence[Mention], chains: dict[str, int], size: int) -> list[str]:
    parts: list[list[str]] = [[] for _ in range(size)]
    # Longer mentions open first and close last.
    for mention in sorted(mentions, key=lambda m: (m.start, -m.stop)):
        name = chains[mention.entity]
        if mention.stop - mention.start == 1:
            parts[mention.start].append(f"({name})")
        else:
            parts[mention.start].append(f"({name}")
            parts[mention.stop - 1].insert(0, f"{name})")
    return ["|".join(part) or "-" for part in parts]


def gap_lines(documents: Iterable[Document]) -> Iterator[str]:
    """Passages in the columns of GAP: a pronoun and two persons of its gender by name, one of them the antecedent.

    A sentence with a pronoun gives at most one passage; most sentences give none. The column URL (in GAP, the page of the
    passage) has the name of the document.
    """
    yield "\t".join(_GAP_COLUMNS) + "\n"
    for document in documents:
        named: dict[str, list[Mention]] = defaultdict(list)
        for mention in document.mentions:
            if mention.type == "proper":
                named[mention.entity].append(mention)
        taken: set[int] = set()
        for pronoun in document.mentions:
            gender = document.gender.get(pronoun.entity)
            if pronoun.type != "pronoun" or gender not in _PRONOUNS or pronoun.sentence in taken:
                continue
            row = _passage(document, pronoun, named, gender)
            if row is not None:
                taken.add(pronoun.sentence)
                yield row


def _passage(document: Document, pronoun: Mention, named: dict[str, list[Mention]], gender: str) -> str | None:
    form = document.sentences[pronoun.sentence].tokens[pronoun.start].form
    if form.lower() not in _PRONOUNS[gender]:
        return None
    right = _last_before(named.get(pronoun.entity, []), pronoun)
    same_gender = [
        mentions for entity, mentions in named.items() if entity != pronoun.entity and document.gender.get(entity) == gender
    ]
    # A rival named only after the pronoun first: pronouns of this corpus mostly refer to whoever was named last.
    rivals = [
        rival for choose in (_first_after, _last_before) for mentions in same_gender if (rival := choose(mentions, pronoun))
    ]
    if right is None or not rivals:
        return None
    wrong = rivals[0]
    first, second = sorted((right, wrong), key=lambda m: (m.sentence, m.start))
    start = first.sentence
    offsets, text = _text(document.sentences[start : max(pronoun.sentence, second.sentence) + 1])

    def place(mention: Mention) -> tuple[str, str]:
        token_offsets = offsets[mention.sentence - start]
        begin, end = token_offsets[mention.start][0], token_offsets[_name_stop(document, mention) - 1][1]
        return text[begin:end], str(begin)

    cells = [f"{document.id}-{pronoun.sentence}", text, *place(pronoun)]
    for mention in (first, second):
        cells += [*place(mention), "TRUE" if mention is right else "FALSE"]
    return "\t".join([*cells, document.id]) + "\n"


def _last_before(mentions: Sequence[Mention], pronoun: Mention) -> Mention | None:
    before = [m for m in mentions if (m.sentence, m.stop) <= (pronoun.sentence, pronoun.start)]
    last = max(before, key=lambda m: (m.sentence, m.start), default=None)
    return last if last is not None and pronoun.sentence - last.sentence < _REACH else None


def _first_after(mentions: Sequence[Mention], pronoun: Mention) -> Mention | None:
    after = [m for m in mentions if (m.sentence, m.start) > (pronoun.sentence, pronoun.stop)]
    first = min(after, key=lambda m: (m.sentence, m.start), default=None)
    return first if first is not None and first.sentence - pronoun.sentence < _REACH else None


def _name_stop(document: Document, mention: Mention) -> int:
    """The end of the name that a mention begins with: what describes the person stands behind it."""
    if mention.type == "pronoun":
        return mention.stop
    tokens = document.sentences[mention.sentence].tokens
    stop = mention.start
    while stop < mention.stop and tokens[stop].xpos.startswith("NNP"):
        stop += 1
    return stop if stop > mention.start else mention.stop


def _text(sentences: Sequence[Sentence]) -> tuple[list[list[tuple[int, int]]], str]:
    """Character offsets of every token of each sentence, and the running text."""
    offsets, text = [], ""
    for sentence in sentences:
        token_offsets = []
        for token in sentence.tokens:
            token_offsets.append((len(text), len(text) + len(token.form)))
            text += token.form + (" " if token.space_after else "")
        text = text.rstrip() + " "
        offsets.append(token_offsets)
    return offsets, text.rstrip()
