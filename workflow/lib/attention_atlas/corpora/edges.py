"""Edge probing (Tenney et al. 2019): labelled spans of words, from JSON lines (jiant's schema) and from annotated corpora.

    {"text": "The cat sleeps", "targets": [{"span1": [0, 2], "span2": [2, 3], "label": "nsubj"}], "info": {"id": "s1"}}

Spans are half-open over the words of the text, which are separated by spaces; `label` is a label or a list of labels. As an
extension of the schema, a target may name its task, and `info` the document of the text. Records of annotated corpora have the
labels of the published converters; a record is a sentence with the targets of one or several tasks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain, combinations, zip_longest
from pathlib import Path
from statistics import fmean
from string import whitespace
from typing import TYPE_CHECKING, Any, TypeVar

from attention_atlas.corpora import conll2012
from attention_atlas.corpora.conllu import (
    Proposition,
    SeveralRootsError,
    Tree,
    children,
    proposition_builders,
    read_conllu,
    subtree,
    tree_builders,
)
from attention_atlas.corpora.layers import EDGE_TASKS, EdgeTarget, WordSpan
from attention_atlas.corpora.records import Dropped, packed_files
from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import columns_of, decoded, json_object, read_lines

if TYPE_CHECKING:
    from nltk import Tree as Constituents

    from attention_atlas.corpora.examples import Example, ExampleBuilder

SAME, OTHER = "1", "0"  # labels of two mentions of one chain, and of different chains
_BRACKET_TAGS = ("-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-")
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
_Build = Callable[[Sequence[str]], "EdgeRecord"]  # builds a record with the targets of some tasks
_NO_PARSE = "XX"  # tag or word of sentences without a parse in OntoNotes
_TRUE_PROTOROLE = 3
"""Mean response (0 to 4) from which a property counts as true: 4 on the scale of 1 to 5 (published code, SPR2)."""


def edges_records(
    raw: str | Path,
    format: str,
    edge_tasks: Sequence[str],
    companion: str | Path | None = None,
    part: str = "all",
    files: str = conll2012.GOLD_FILES,
) -> Iterator[Callable[[], EdgeRecord]]:
    """Yield functions that build the records of a corpus, with the targets of some tasks, including records without targets.

    Building takes far longer than reading, so callers build only a sample. A tree with several roots raises `SeveralRootsError`
    when its record is built. `companion`: treebank with the sentences of annotations without sentences (format `decomp`).
    """
    if absent := [task for task in edge_tasks if task not in FORM_TASKS[format]]:
        raise AtlasError(f"{raw}: the format {format} has no targets for {absent[0]}, only {', '.join(FORM_TASKS[format])}.")
    pairs: dict[str, bool] = {}
    # Generators: only that of the format is started.
    readers: Mapping[str, Iterator[_Build]] = {
        "records": (partial(_of_line, line, number, raw, pairs) for number, line in read_lines(raw) if line.strip()),
        "conllu": (partial(_of_tree, build) for build in tree_builders(raw)),
        "propositions": (partial(_of_tree, build) for build in proposition_builders(raw)),
        "conll2012": (
            partial(_of_document, document, number, *bounds)
            for document in conll2012.conll2012_records(raw, files)
            for number, bounds in enumerate(conll2012.sentence_starts(document))
        ),
        "entities": _entity_sentences(Path(raw)),
        "semeval": _relation_sentences(Path(raw)),
        "decomp": _protorole_sentences(Path(raw), companion),
    }
    for build, in_development in coin_flips(readers[format]):
        if part == "all" or in_development == (part == "development"):
            yield partial(build, edge_tasks)


def coin_flips(records: Iterable[_Record], seed: int = 42, share: float = 0.15) -> Iterator[tuple[_Record, bool]]:
    """Each record with whether it is one of the development set; the published seed parts SemEval as in the authors' table."""
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


def _of_tree(build: Callable[[], Tree | tuple[Tree, tuple[Proposition, ...]]], tasks: Sequence[str]) -> EdgeRecord:
    built = build()
    tree, propositions = built if isinstance(built, tuple) else (built, ())
    below = children(tree.heads)
    # A word and its head; the root is paired with itself.
    arcs = ((k, head - 1 if head else k, tree.relations[k]) for k, head in enumerate(tree.heads))
    roles = ((predicate, *argument) for predicate, arguments in propositions for argument in arguments)
    targets = {
        "pos": _tag_targets(tree.xpos),
        "dependencies": (EdgeTarget((k, k + 1), (head, head + 1), (name,), "dependencies") for k, head, name in arcs),
        "roles": (EdgeTarget((p - 1, p), _argument(below, p, head), (role,), "roles") for p, head, role in roles),
    }
    return EdgeRecord(tree.id, tree.words, _of_tasks(targets, tasks), tree.document, tree.spaces)


def _of_tasks(targets: Mapping[str, Iterable[EdgeTarget]], tasks: Sequence[str]) -> tuple[EdgeTarget, ...]:
    return tuple(target for task in tasks for target in targets[task])


def _tag_targets(tags: Sequence[str], unknown: str = "") -> Iterator[EdgeTarget]:
    """Parts of speech: each word is a target with its language-specific tag as label."""
    return (EdgeTarget((k, k + 1), None, (tag,), "pos") for k, tag in enumerate(tags) if tag != unknown)


def _argument(below: Sequence[Sequence[int]], predicate: int, head: int) -> WordSpan:
    """All words below the head of an argument; only the head if they contain the predicate (the noun of a relative clause)."""
    span = subtree(below, head)
    return (head - 1, head) if span[0] < predicate <= span[1] else span


def _of_document(document: conll2012.Document, number: int, start: int, stop: int, tasks: Sequence[str]) -> EdgeRecord:
    """A sentence of a document with the columns of CoNLL-2012; a missing layer yields no targets.

    Parts of speech are leaves of a parse, as in the published code: a sentence without one has none. OntoNotes writes a
    missing parse as one bracket around words with the tags XX and VERB; the published code treats every sentence with a tag
    or word XX as unparsed.
    """
    tags, words = document.tags[start:stop], document.words[start:stop]
    parsed = bool(document.parses[number]) and _NO_PARSE not in tags and _NO_PARSE not in words
    inside = partial(_inside, start=start, stop=stop)
    # Generators: parsing takes long.
    trees = (conll2012.sentence_parse(document, k) for k in [number] if parsed)
    targets: dict[str, Iterable[EdgeTarget]] = {
        "pos": _tag_targets(tags if parsed else (), unknown="_"),
        "constituents": (target for tree in trees for target in constituent_targets(tree)),
        "entities": _entities(inside(document.entities)),
        "roles": _arguments(map(inside, document.propositions)),
        "coreference": coreference_targets(inside(document.spans)),
    }
    return EdgeRecord(f"{document.id}-{number + 1}", words, _of_tasks(targets, tasks), document.id)


def _inside(spans: Iterable[conll2012.Span], start: int, stop: int) -> list[tuple[WordSpan, str]]:
    """Spans within a sentence, relative to its first word."""
    return [((s.start - start, s.stop - start), s.label) for s in spans if start <= s.start and s.stop <= stop]


def _entities(entities: Iterable[tuple[WordSpan, str]]) -> Iterator[EdgeTarget]:
    return (EdgeTarget(span, None, (label,), "entities") for span, label in entities)


def _arguments(propositions: Iterable[Iterable[tuple[WordSpan, str]]]) -> Iterator[EdgeTarget]:
    """Predicate and argument, for all arguments of all predicates; the predicate itself is not an argument."""
    for spans in propositions:
        predicates = [span for span, label in spans if label == conll2012.PREDICATE]
        for span, label in spans:
            if predicates and label != conll2012.PREDICATE:
                yield EdgeTarget(predicates[0], span, (label,), "roles")


def _for_any(record: EdgeRecord, tasks: Sequence[str]) -> EdgeRecord:
    """A record of a format with one task."""
    return record


_TAG = re.compile(r"[BI]-\S+")


def _entity_sentences(raw: Path) -> Iterator[_Build]:
    """Sentences with nested entities in LitBank's format: a word a line with columns of B- and I- tags, then a blank line."""
    # LitBank's repository also has files with the same names for events.
    for name, lines in conll2012.column_files(raw, files="*.tsv", below="entities"):
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
                by_column = map(conll2012.tagged_spans, zip_longest(*columns, fillvalue="O"))
                spans = sorted(chain.from_iterable(by_column))
                targets = tuple(_entities(_inside(spans, 0, len(words))))
                yield partial(_for_any, EdgeRecord(f"{base}-{place}", tuple(words), targets, base))
                words, columns = [], []


_SENTENCE = re.compile(r'^(\d+)\t"(.*)"\s*$')
_MARKED = re.compile(r"(.*)<e1>(.*)</e1>(.*)<e2>(.*)</e2>(.*)")


def _relation_sentences(raw: Path) -> Iterator[_Build]:
    """Relations of SemEval-2010 task 8 in its original format: a sentence with <e1> and <e2>, then a line with the relation."""
    pending: tuple[str, str, str] | None = None
    for number, line in chain(read_lines(raw), [(0, "")]):
        match = _SENTENCE.match(line)
        if pending is not None and (match or not number):
            raise AtlasError(f"{pending[2]}: this sentence has no relation: the file is incomplete.")
        if match:
            pending = match[1], match[2], f"{raw}:{number}"
        elif pending is not None:
            yield partial(_for_any, _relation(*pending, line.strip()))
            pending = None


def _relation(name: str, text: str, where: str, label: str) -> EdgeRecord:
    match = _MARKED.fullmatch(text)
    parts = [WORD.findall(part) for part in match.groups()] if match else []
    if match is None or not (parts[1] and parts[3] and label):
        raise AtlasError(f"{where}: expected words within <e1> and </e1>, <e2> and </e2>, and a relation in the next line.")
    words = tuple(word for part in parts for word in part)
    _, start1, stop1, start2, stop2, _ = accumulate(map(len, parts), initial=0)
    target = EdgeTarget((start1, stop1), (start2, stop2), (label,), "relations")
    return EdgeRecord(name, words, (target,), spaces=spaces_in("".join(match.groups()), words))


_NODE = re.compile(r"^ewt-(\w+)-(\d+)-semantics-(?:pred|arg)-(\d+)$")


def _protorole_sentences(raw: Path, companion: str | Path | None) -> Iterator[_Build]:
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
        yield partial(_of_annotations, trees[number - 1], name, annotated, f"{raw}: {name}")


def _annotations(raw: Path) -> dict[str, Any]:
    try:
        ((name, content),) = packed_files(raw, lambda names: [n for n in names if n.endswith(".json") and "/" not in n])
        data = json_object(decoded(content, f"{raw}: {name}"), f"{raw}: {name}")["data"]
    except (AtlasError, ValueError, KeyError) as error:
        raise AtlasError(
            f"{raw}: not a zip archive with one JSON file of proto-roles under 'data' ({error}); fetch it again."
        ) from error
    return dict(sorted(data.items(), key=lambda item: [int(n) for n in re.findall(r"\d+", item[0])]))


def _of_annotations(tree: Tree, name: str, annotated: Mapping[str, Any], where: str, tasks: Sequence[str]) -> EdgeRecord:
    below = children(tree.heads)
    targets = []
    for edge, layers in annotated.items():
        nodes = [_NODE.match(node) for node in edge.split("%%")]
        if len(nodes) != 2 or not all(nodes):
            raise AtlasError(f"{where}: {edge!r} is not a pair of a predicate and an argument.")
        predicate, argument = (int(node[3]) for node in nodes if node)
        if (last := max(predicate, argument)) > len(tree.words):
            raise AtlasError(f"{where}: word {last} is annotated, but the sentence has {len(tree.words)} words.")
        properties = sorted(layers["protoroles"].items())
        labels = tuple(name for name, judgements in properties if _mean_response(judgements) >= _TRUE_PROTOROLE)
        span = _argument(below, predicate, argument)
        targets.append(EdgeTarget((predicate - 1, predicate), span, labels, "protoroles"))
    return EdgeRecord(name, tree.words, tuple(targets), tree.document, tree.spaces)


def _mean_response(judgements: Mapping[str, Mapping[str, int]]) -> float:
    return fmean(value if judgements["confidence"][annotator] else 0 for annotator, value in judgements["value"].items())


@dataclass(frozen=True)
class EdgeRecord:
    id: str
    words: tuple[str, ...]
    targets: tuple[EdgeTarget, ...]
    document: str | None = None  # the document that the text is taken from; None if unknown
    spaces: tuple[bool, ...] = ()  # whether a space stands before each word in the text; empty if unknown


def _of_line(line: str, number: int, raw: str | Path, pairs: dict[str, bool], tasks: Sequence[str]) -> EdgeRecord:
    """A record of edge-probing JSON lines; targets without a task belong to the only task. `pairs` records for each task so far
    whether its targets have two spans.
    """
    where = f"{raw}:{number}"
    row = json_object(line, where)
    text, targets, info = row.get("text"), row.get("targets"), row.get("info")
    if not isinstance(text, str) or not isinstance(targets, list) or not all(isinstance(t, Mapping) for t in targets):
        raise AtlasError(f"{where}: expected a text under 'text' and a list of targets under 'targets'.")
    words = text.split(" ")
    # jiant splits at single spaces; other ASCII white space would shift all spans after it.
    if any(not word or set(whitespace) & set(word) for word in words):
        raise AtlasError(f"{where}: separate the words of a text by single spaces; spans count words.")
    edge_targets = tuple(_target(target, where, len(words)) for target in targets)
    for target in edge_targets:
        if pairs.setdefault(target.task, target.span2 is not None) != (target.span2 is not None):
            raise AtlasError(f"{where}: some targets of a task have one span, others two: name the task of each target.")
    about = info if isinstance(info, Mapping) else {}
    name, document = str(about.get("id", number)), about.get("document")
    if len(tasks) != 1 and any(not target.task for target in edge_targets):
        raise AtlasError(f"{raw}: record {name} has a target without a task, but the corpus has several.")
    named = (replace(target, task=target.task or tasks[0]) for target in edge_targets)
    wanted = tuple(target for target in named if target.task in tasks)
    return EdgeRecord(name, tuple(words), wanted, None if document is None else str(document))


def _target(target: Mapping[str, Any], where: str, size: int) -> EdgeTarget:
    labels = target.get("label")
    labels = [labels] if isinstance(labels, str) else labels
    if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
        raise AtlasError(f"{where}: 'label' of a target must be a label or a list of labels, not {target.get('label')!r}.")
    first = _span(target.get("span1"), "span1", where, size)
    second = _span(target["span2"], "span2", where, size) if "span2" in target else None
    return EdgeTarget(first, second, tuple(dict.fromkeys(labels)), str(target.get("task", "")))


def _span(value: Any, name: str, where: str, size: int) -> WordSpan:
    whole = isinstance(value, list) and len(value) == 2 and all(type(end) is int for end in value)
    if not whole or not 0 <= value[0] < value[1] <= size:
        raise AtlasError(
            f"{where}: '{name}' must be [start, stop] with 0 <= start < stop <= {size} (words of the text), not {value!r}."
        )
    return value[0], value[1]


def constituent_targets(parse: Constituents) -> Iterator[EdgeTarget]:
    """Constituents: every bracket except those of single tags, including the root; label: see `constituent_label`."""

    def walk(node: Constituents | str, start: int) -> Iterator[EdgeTarget]:
        if isinstance(node, str) or all(isinstance(child, str) for child in node):
            return
        if label := constituent_label(node.label()):
            yield EdgeTarget((start, start + len(node.leaves())), None, (label,), "constituents")
        for child in node:
            yield from walk(child, start)
            start += 1 if isinstance(child, str) else len(child.leaves())

    return walk(parse, 0)


def constituent_label(bracket: str) -> str:
    """The category of a bracket without functions and numbers, as in the published code: NP for NP-SBJ-1, but NP-S for NP-S.

    Labels of bracket tokens (-LRB-) are kept.
    """
    if bracket in _BRACKET_TAGS:
        return bracket
    category, *functions = re.split(r"[-=|]", bracket)
    return f"{category}-S" if functions[:1] == ["S"] else category


def coreference_targets(mentions: Sequence[tuple[WordSpan, str]]) -> list[EdgeTarget]:
    """Coreference within a sentence: every pair of annotated mentions (span, chain), "1" for the same chain, "0" otherwise."""
    return [
        EdgeTarget(span1, span2, (SAME if chain1 == chain2 else OTHER,), "coreference")
        for (span1, chain1), (span2, chain2) in combinations(mentions, 2)
    ]
