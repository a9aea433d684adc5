"""Edge-probing records from annotated corpora, with the labels of the published converters (Tenney et al. 2019).

A record is a sentence with the targets of one or several tasks, so that all tasks share its hidden states.
"""

from __future__ import annotations

import json
import random
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from attention_atlas.corpora.conll2012 import (
    GOLD_FILES,
    PREDICATE,
    Document,
    Span,
    column_files,
    conll2012_records,
    sentence_parse,
    sentence_starts,
)
from attention_atlas.corpora.conllu import (
    Proposition,
    SeveralRootsError,
    Tree,
    proposition_builders,
    read_conllu,
    tree_builders,
)
from attention_atlas.corpora.edges import (
    EdgeRecord,
    children,
    constituent_targets,
    coreference_targets,
    edge_line_builders,
    subtree,
)
from attention_atlas.corpora.layers import EDGE_TASKS, EdgeTarget, WordSpan
from attention_atlas.corpora.records import Dropped
from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import columns_of, decoded, read_lines

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example, ExampleBuilder

FORM_TASKS = {
    "records": tuple(EDGE_TASKS),
    "conllu": ("pos", "dependencies"),
    "propositions": ("pos", "dependencies", "roles"),
    "conll2012": ("pos", "constituents", "entities", "roles", "coreference"),
    "entities": ("entities",),
    "semeval": ("relations",),
    "decomp": ("protoroles",),
}
"""File format -> the tasks that it has targets for."""
_Record = TypeVar("_Record")
_NO_PARSE = "XX"  # tag or word of sentences without a parse in OntoNotes
_TRUE_PROTOROLE = 3
"""Mean response (0 to 4) from which a property counts as true: 4 on the scale of 1 to 5 (published code, SPR2)."""


class _Sentence(NamedTuple):
    """Name, words, functions that build the targets of each task, and document and spaces if the source has them."""

    id: str
    words: tuple[str, ...]
    builders: Mapping[str, Callable[[], Iterable[EdgeTarget]]]
    document: str | None = None
    spaces: tuple[bool, ...] = ()


def edges_records(
    raw: str | Path,
    format: str,
    edge_tasks: Sequence[str],
    companion: str | Path | None = None,
    part: str = "all",
    files: str = GOLD_FILES,
) -> Iterator[Callable[[], EdgeRecord]]:
    """Yield functions that build the records of a corpus, with the targets of some tasks, including records without targets.

    Building targets takes far longer than reading the file, so callers build only those of a sample. A tree with several roots
    raises an error (`SeveralRootsError`) when its record is built, so that a caller can drop this record.

    `companion`: treebank with the sentences of annotations without sentences (format `decomp`).
    """
    if absent := [task for task in edge_tasks if task not in FORM_TASKS[format]]:
        raise AtlasError(f"{raw}: the format {format} has no targets for {absent[0]}, only {', '.join(FORM_TASKS[format])}.")
    source = Path(raw)
    builders: Iterable[Callable[[], EdgeRecord]]
    if format == "records":
        builders = (partial(_named, build, raw, edge_tasks) for build in edge_line_builders(raw))
    elif format == "conllu":
        builders = (partial(_of_tree, build, edge_tasks) for build in tree_builders(source))
    elif format == "propositions":
        builders = (partial(_of_propositions, build, edge_tasks) for build in proposition_builders(source))
    else:
        # Generators: only that of the format is started.
        sentences = {
            "conll2012": _document_sentences(source, files),
            "entities": _entity_sentences(source),
            "semeval": _relation_sentences(source),
            "decomp": _protorole_sentences(source, companion),
        }
        builders = (partial(_built, sentence, edge_tasks) for sentence in sentences[format])
    for build, in_development in coin_flips(builders):
        if part == "all" or in_development == (part == "development"):
            yield build


def coin_flips(records: Iterable[_Record], seed: int = 42, share: float = 0.15) -> Iterator[tuple[_Record, bool]]:
    """Each record with whether it belongs to the development set (random, as in the published split of SemEval).

    The published seed gives the 6,851 and 1,149 records of the authors' corrected table.
    """
    generator = random.Random(seed)
    for record in records:
        yield record, generator.random() > 1 - share


def edges_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    for build in builder.records(start, stop):
        try:
            record = build()
        except SeveralRootsError as error:
            yield error.dropped
            continue
        if record.targets:
            yield builder.example(record.id, record.words, record.spaces, edges=record.targets, document=record.document)
        else:
            yield Dropped(record.id, "no targets")


def _named(build: Callable[[], EdgeRecord], raw: str | Path, tasks: Sequence[str]) -> EdgeRecord:
    """A record of edge-probing JSON lines; targets without a task belong to the only task."""
    record = build()
    if len(tasks) != 1 and any(not target.task for target in record.targets):
        raise AtlasError(
            f"{raw}: record {record.id} has a target without a task, but the corpus has several: {', '.join(tasks)}."
        )
    named = (replace(target, task=target.task or tasks[0]) for target in record.targets)
    return replace(record, targets=tuple(target for target in named if target.task in tasks))


def _built(sentence: _Sentence, tasks: Sequence[str]) -> EdgeRecord:
    targets = tuple(target for task in tasks for target in sentence.builders[task]())
    return EdgeRecord(sentence.id, sentence.words, targets, sentence.document, sentence.spaces)


def _of_tree(build: Callable[[], Tree], tasks: Sequence[str]) -> EdgeRecord:
    tree = build()
    return _built(_Sentence(tree.id, tree.words, _tree_builders(tree), tree.document, tree.spaces), tasks)


def _of_propositions(build: Callable[[], tuple[Tree, tuple[Proposition, ...]]], tasks: Sequence[str]) -> EdgeRecord:
    tree, propositions = build()
    builders = _tree_builders(tree) | {"roles": partial(role_targets, tree, propositions)}
    return _built(_Sentence(tree.id, tree.words, builders, tree.document, tree.spaces), tasks)


def tag_targets(tree: Tree) -> list[EdgeTarget]:
    """Parts of speech: each word is a target with its language-specific tag (XPOS) as label."""
    return [EdgeTarget((k, k + 1), None, (tag,), "pos") for k, tag in enumerate(tree.xpos)]


def dependency_targets(tree: Tree) -> list[EdgeTarget]:
    """Dependencies: span1 is a word, span2 its head; the root is paired with itself."""
    targets = []
    for k, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True)):
        place = head - 1 if head else k
        targets.append(EdgeTarget((k, k + 1), (place, place + 1), (relation,), "dependencies"))
    return targets


def role_targets(tree: Tree, propositions: Iterable[Proposition], whole: bool = True) -> list[EdgeTarget]:
    """Semantic roles: span1 is the predicate, span2 an argument.

    `whole`: whether an argument spans all words below its head; otherwise only the head. An argument that contains the
    predicate (the noun of a relative clause) is always only the head.
    """
    below = children(tree.heads)
    targets = []
    for proposition in propositions:
        predicate = proposition.predicate
        for head, role in proposition.arguments:
            span = subtree(below, head) if whole else (head - 1, head)
            if span[0] < predicate <= span[1]:
                span = (head - 1, head)
            targets.append(EdgeTarget((predicate - 1, predicate), span, (role,), "roles"))
    return targets


def _tree_builders(tree: Tree) -> dict[str, Callable[[], Iterable[EdgeTarget]]]:
    return {"pos": partial(tag_targets, tree), "dependencies": partial(dependency_targets, tree)}


def _document_sentences(raw: Path, files: str) -> Iterator[_Sentence]:
    """Sentences of documents with the columns of CoNLL-2012; a missing layer yields no targets.

    Parts of speech come from sentences with a parse. OntoNotes writes a missing parse as one bracket around words with the
    tags XX and VERB; the published code treats every sentence with a tag or word XX as unparsed.
    """
    for document in conll2012_records(raw, files):
        for number, (start, stop) in enumerate(sentence_starts(document)):
            tags, words = document.tags[start:stop], document.words[start:stop]
            parsed = bool(document.parses[number]) and _NO_PARSE not in tags and _NO_PARSE not in words
            inside = partial(_inside, start=start, stop=stop)
            builders: dict[str, Callable[[], Iterable[EdgeTarget]]] = {
                "pos": partial(_tagged, tags if parsed else ()),
                "constituents": partial(_parsed, document, number) if parsed else tuple,
                "entities": partial(_entities, inside(document.entities)),
                "roles": partial(_arguments, [spans for spans in map(inside, document.propositions) if spans]),
                "coreference": partial(coreference_targets, inside(document.spans)),
            }
            yield _Sentence(f"{document.id}-{number + 1}", words, builders, document.id)


def _inside(spans: Iterable[Span], start: int, stop: int) -> list[tuple[WordSpan, str]]:
    """Spans within a sentence, relative to its first word."""
    return [((s.start - start, s.stop - start), s.label) for s in spans if start <= s.start and s.stop <= stop]


def _tagged(tags: Sequence[str]) -> Iterator[EdgeTarget]:
    """Parts of speech as leaves of a parse, as in the published code: a sentence without one has none."""
    return (EdgeTarget((k, k + 1), None, (tag,), "pos") for k, tag in enumerate(tags) if tag != "_")


def _parsed(document: Document, number: int) -> Iterable[EdgeTarget]:
    return constituent_targets(sentence_parse(document, number))


def _entities(entities: Iterable[tuple[WordSpan, str]]) -> Iterator[EdgeTarget]:
    return (EdgeTarget(span, None, (label,), "entities") for span, label in entities)


def _arguments(propositions: Iterable[Iterable[tuple[WordSpan, str]]]) -> Iterator[EdgeTarget]:
    """Predicate and argument, for all arguments of all predicates; the predicate itself is not an argument."""
    for spans in propositions:
        predicates = [span for span, label in spans if label == PREDICATE]
        for span, label in spans:
            if predicates and label != PREDICATE:
                yield EdgeTarget(predicates[0], span, (label,), "roles")


_TAG = re.compile(r"[BI]-\S+")


def _entity_sentences(raw: Path) -> Iterator[_Sentence]:
    """Sentences with nested entities in LitBank's format: a word a line with columns of B- and I- tags, then a blank line."""
    # LitBank's repository also has files with the same names for events.
    for name, lines in column_files(raw, files="*.tsv", below="entities"):
        place, words, columns = 0, [], []
        for number, line in [*lines, (0, b"")]:
            word, *tags = columns_of(decoded(line, f"{name}:{number}").rstrip("\r\n")) or [""]
            if word.strip(" "):
                for tag in tags:
                    if tag not in ("", "O") and not _TAG.fullmatch(tag):
                        raise AtlasError(f"{name}:{number}: {tag!r} is not a tag such as B-PER, I-PER or O.")
                words.append(word.strip(" "))
                columns.append(tags)
            elif any(tags):
                raise AtlasError(f"{name}:{number}: the word is empty; fill it in.")
            elif words:
                place += 1
                base = name.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
                yield _Sentence(f"{base}-{place}", tuple(words), {"entities": partial(_entities, _tag_spans(columns))}, base)
                words, columns = [], []


def _tag_spans(rows: Sequence[Sequence[str]]) -> list[tuple[WordSpan, str]]:
    """Spans of all columns of B- and I- tags [word][column], ordered by start.

    An I- tag after a tag of another type starts a span, as in IOB1 and in the scorer of CoNLL.
    """
    spans: list[tuple[WordSpan, str]] = []
    for column in range(max(map(len, rows))):
        tags = [row[column] if column < len(row) else "O" for row in rows]
        for start, tag in enumerate(tags):
            if tag.startswith("B-") or (tag.startswith("I-") and (start == 0 or tags[start - 1][2:] != tag[2:])):
                stop = start + 1
                while stop < len(tags) and tags[stop] == f"I-{tag[2:]}":
                    stop += 1
                spans.append(((start, stop), tag[2:]))
    return sorted(spans)


_SENTENCE = re.compile(r'^(\d+)\t"(.*)"\s*$')
_MARK = re.compile(r"</?e[12]>")


def _relation_sentences(raw: Path) -> Iterator[_Sentence]:
    """Relations of SemEval-2010 task 8 in its original format: a sentence with <e1> and <e2>, then a line with the relation."""
    pending: tuple[str, str, str] | None = None
    for number, line in read_lines(raw):
        where = f"{raw}:{number}"
        if match := _SENTENCE.match(line):
            if pending is not None:
                raise AtlasError(f"{where}: the sentence before this one has no relation.")
            pending = match[1], match[2], where
        elif pending is not None:
            yield _relation(*pending, line.strip())
            pending = None
    if pending is not None:
        raise AtlasError(f"{pending[2]}: this sentence has no relation: the file is incomplete.")


def _relation(name: str, text: str, where: str, label: str) -> _Sentence:
    words: list[str] = []
    mark_positions: dict[str, int] = {}
    place = 0
    for mark in _MARK.finditer(text):
        words += WORD.findall(text[place : mark.start()])
        mark_positions[mark[0]] = len(words)
        place = mark.end()
    words += WORD.findall(text[place:])
    try:
        spans = [(mark_positions[f"<e{k}>"], mark_positions[f"</e{k}>"]) for k in (1, 2)]
    except KeyError as error:
        raise AtlasError(f"{where}: the sentence has no {error.args[0]}: both entities must be marked.") from error
    if not label or any(start >= stop for start, stop in spans):
        raise AtlasError(f"{where}: expected words between the marks, and a relation in the next line.")
    target = EdgeTarget(spans[0], spans[1], (label,), "relations")
    return _Sentence(name, tuple(words), {"relations": lambda: [target]}, spaces=spaces_in(_MARK.sub("", text), words))


_NODE = re.compile(r"^ewt-(\w+)-(\d+)-semantics-(?:pred|arg)-(\d+)$")


def _protorole_sentences(raw: Path, companion: str | Path | None) -> Iterator[_Sentence]:
    """Proto-roles of Universal Decompositional Semantics 1.0 (raw annotations in a zip), on the sentences of one of its parts.

    A property is true if the mean response is high enough; "does not apply" counts as the lowest response. An argument
    spans all words below its head.
    """
    if companion is None:
        raise AtlasError(f"{raw}: proto-roles come without sentences: name the treebank with their sentences (`trees`).")
    trees = list(read_conllu(companion))
    # Each file of the treebank is one part; annotations number the sentences of a part from 1.
    part_match = re.search(r"train|dev|test", Path(companion).name)
    part = part_match[0] if part_match else "dev"
    for name, annotated in _annotations(raw).items():
        match = re.fullmatch(rf"ewt-{part}-(\d+)", name)
        if match is None:
            continue
        number = int(match[1])
        if number > len(trees):
            raise AtlasError(f"{raw}: {name} is annotated, but {companion} has {len(trees)} sentences: they do not match.")
        tree = trees[number - 1]
        builders = {"protoroles": partial(_protoroles, tree, annotated, f"{raw}: {name}")}
        yield _Sentence(name, tree.words, builders, tree.document, tree.spaces)


def _annotations(raw: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(raw) as archive:
            (member,) = [name for name in archive.namelist() if name.endswith(".json") and "/" not in name]
            data = json.loads(archive.read(member))["data"]
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise AtlasError(
            f"{raw}: not a zip archive with one JSON file of proto-roles under 'data' ({error}); fetch it again."
        ) from error
    return dict(sorted(data.items(), key=lambda item: [int(n) for n in re.findall(r"\d+", item[0])]))


def _protoroles(tree: Tree, annotated: Mapping[str, Any], where: str) -> Iterator[EdgeTarget]:
    below = children(tree.heads)
    for edge, layers in annotated.items():
        nodes = [_NODE.match(node) for node in edge.split("%%")]
        if len(nodes) != 2 or not all(nodes):
            raise AtlasError(f"{where}: {edge!r} is not a pair of a predicate and an argument.")
        predicate, argument = (int(node[3]) for node in nodes if node)
        if max(predicate, argument) > len(tree.words):
            raise AtlasError(
                f"{where}: word {max(predicate, argument)} is annotated, but the sentence has {len(tree.words)} words."
            )
        properties = sorted(layers["protoroles"].items())
        labels = tuple(name for name, judgements in properties if _mean_response(judgements) >= _TRUE_PROTOROLE)
        span = subtree(below, argument)
        if span[0] < predicate <= span[1]:
            span = (argument - 1, argument)
        yield EdgeTarget((predicate - 1, predicate), span, labels, "protoroles")


def _mean_response(judgements: Mapping[str, Mapping[str, int]]) -> float:
    applies = judgements["confidence"]
    responses = [value if applies[annotator] else 0 for annotator, value in judgements["value"].items()]
    return sum(responses) / len(responses)
