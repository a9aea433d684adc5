"""Examples: what a model is fed and the gold layers that belong to it, one Parquet file a shard."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from attention_atlas.corpora.alignment import Pieces, WordPieces
from attention_atlas.corpora.conll2012 import read_conll2012
from attention_atlas.corpora.conllu import read_conllu
from attention_atlas.corpora.edge_converters import read_edge_records
from attention_atlas.corpora.edges import EdgeRecord, EdgeTarget
from attention_atlas.corpora.frames import ELEMENT, TARGET, FrameSentence, first_occurrence, read_frames
from attention_atlas.corpora.gap import Passage, read_gap
from attention_atlas.corpora.glue import Labelled, Tagged, read_glue
from attention_atlas.corpora.mentions import HEAD_RULES, Mention
from attention_atlas.corpora.parallel import Translated, read_parallel
from attention_atlas.corpora.questions import Asked, QuestionWindow, question_windows, read_questions
from attention_atlas.corpora.segments import RECIPES, Segment, Word
from attention_atlas.corpora.stanford import to_stanford
from attention_atlas.corpora.text import WORD, read_documents
from attention_atlas.corpora.trees import Tree
from attention_atlas.corpora.windows import document_mentions, document_windows, mentions_between, trees_of_documents
from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.files import whole_file
from attention_atlas.tables import write_table

_log = logging.getLogger(__name__)

# Gold layers over words: a value a word. Studies that need further layers add theirs here.
WORD_LAYERS: dict[str, pa.DataType] = {
    "heads": pa.int32(),
    "relations": pa.string(),
    "lemmas": pa.string(),
    "upos": pa.string(),
    "xpos": pa.string(),
    "sentence": pa.int32(),
}
_MENTION = pa.struct(
    [
        *((name, pa.int32()) for name in ("start", "stop")),
        ("cluster", pa.string()),
        *((name, pa.bool_()) for name in ("first", "singleton")),
        *((f"head_{rule}", pa.int32()) for rule in HEAD_RULES),
        ("role", pa.string()),
    ]
)
_ASKED = pa.struct(
    [
        *((name, pa.string()) for name in ("question", "context")),
        ("size", pa.int32()),
        *((name, pa.list_(pa.int32())) for name in ("starts", "stops")),
        ("answers", pa.list_(pa.string())),
        ("span", pa.list_(pa.int32())),
    ]
)
_EDGE = pa.struct(
    [
        ("task", pa.string()),
        *((name, pa.list_(pa.int32())) for name in ("span1", "span2")),
        ("labels", pa.list_(pa.string())),
    ]
)
SCHEMA = pa.schema(
    [
        ("record", pa.int64()),
        ("id", pa.string()),
        ("input_ids", pa.list_(pa.int32())),
        ("segment_ids", pa.list_(pa.int8())),
        ("tokens", pa.list_(pa.string())),
        ("word", pa.list_(pa.int32())),
        ("words", pa.list_(pa.string())),
        *((name, pa.list_(kind)) for name, kind in WORD_LAYERS.items()),
        ("mentions", pa.list_(_MENTION)),
        ("asked", _ASKED),
        ("label", pa.string()),
        ("edges", pa.list_(_EDGE)),
    ]
)


@dataclass(frozen=True)
class Example:
    """One model input with its words and gold layers.

    Attributes:
        record: position in the corpus, counted from 0 over all records, dropped ones included.
        id: name of the example in the corpus.
        input_ids, segment_ids, tokens: n word pieces, special tokens included.
        word: for each piece the position of its word, -1 for a special token.
        words: the m words.
        layers: gold layers by name, each with m values (`heads`: 1-indexed, 0 = ROOT); absent layers are left out.
        mentions: spans of words that refer; None where the corpus has no such layer.
        asked: what a question wants to know of a passage; None where there is no question.
        label: class, a number as text, or the translation of the text; None where the corpus has none.
        edges: targets of edge probing, spans over `words`; None where the corpus has no such layer.
    """

    record: int
    id: str
    input_ids: tuple[int, ...]
    segment_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    word: tuple[int, ...]
    words: tuple[str, ...]
    layers: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    mentions: tuple[Mention, ...] | None = None
    asked: Asked | None = None
    label: str | None = None
    edges: tuple[EdgeTarget, ...] | None = None


def asked_of(example: Example) -> Asked:
    """What the question of an example wants to know.

    Raises:
        AtlasError: the example holds no question.
    """
    if example.asked is None:
        raise AtlasError(f"example {example.id} holds no question: use a corpus with reader squad.")
    return example.asked


@dataclass(frozen=True)
class Dropped:
    """A record that became no example, and why."""

    record: int
    id: str
    reason: str
    detail: str = ""


def build_shard(
    entry: Mapping[str, Any],
    raw: str | Path,
    tokenizer: str | Path,
    max_tokens: int,
    start: int,
    out: str | Path,
    dropped_out: str | Path,
    beside: str | Path | None = None,
) -> None:
    """Write the examples of records start .. start + shard - 1 of a corpus, and the table of those dropped.

    Args:
        entry: registry entry of the corpus.
        raw: its file.
        tokenizer: the model's tokenizer.json.
        max_tokens: longest input of the model, in pieces; the corpus's own bound counts as well.
        start: first record.
        out: Parquet file to write (columns: `SCHEMA`).
        dropped_out: tab-separated table to write: record, id, reason, detail.
        beside: the file beside `raw`: the sentences of a coreference corpus as CoNLL-U, for head words by dependencies, those
            of proto-roles, or the translations of a parallel corpus.

    Raises:
        AtlasError: bad input, or a corpus that gives no example in its first shard.
    """
    pieces = WordPieces(tokenizer)
    bound = min(entry["max_tokens"], max_tokens)
    stop = start + entry["shard"]
    examples: list[Example] = []
    dropped: list[Dropped] = []
    for item in _records(entry, raw, pieces, bound, start, stop, beside):
        (examples if isinstance(item, Example) else dropped).append(item)
    if not examples and start == 0:
        reasons = "; ".join(f"{n} {reason}" for reason, n in Counter(d.reason for d in dropped).items()) or "it has no records"
        raise AtlasError(f"{raw}: no usable example among the first {entry['shard']} records ({reasons}).")
    _report(examples, dropped, start, stop, raw)
    write_examples(out, examples)
    columns = [name.name for name in fields(Dropped)]
    write_table(pd.DataFrame([astuple(record) for record in dropped], columns=columns), dropped_out)


def write_examples(path: str | Path, examples: Sequence[Example]) -> None:
    """Write examples as Parquet, whole or not at all."""
    columns: dict[str, list[Any]] = {
        name: [getattr(example, name) if name not in WORD_LAYERS else example.layers.get(name) for example in examples]
        for name in SCHEMA.names
    }
    columns["mentions"] = [None if e.mentions is None else [_mention_row(m) for m in e.mentions] for e in examples]
    columns["asked"] = [None if e.asked is None else asdict(e.asked) for e in examples]
    columns["edges"] = [None if e.edges is None else [asdict(target) for target in e.edges] for e in examples]
    with whole_file(path) as part:
        pq.write_table(pa.table(columns, schema=SCHEMA), part)


def read_examples(paths: Iterable[str | Path], limit: int | None = None) -> Iterator[Example]:
    """Yield the examples of shard files in order, up to record `limit` (exclusive).

    Raises:
        AtlasError: a file is missing or is not a table of examples.
    """
    for path in paths:
        try:
            # The schema is compared as well: given one, the reader fills missing columns with nothing.
            table = pq.read_table(path).cast(SCHEMA)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DamagedFile(path, f"not a readable table of examples ({error})") from error
        for row in table.to_pylist():
            if limit is not None and row["record"] >= limit:
                return
            layers = {name: tuple(row[name]) for name in WORD_LAYERS if row[name] is not None}
            fixed = {name: tuple(row[name]) for name in ("input_ids", "segment_ids", "tokens", "word", "words")}
            mentions = None if row["mentions"] is None else tuple(map(_mention, row["mentions"]))
            asked = None if row["asked"] is None else _asked(row["asked"])
            edges = None if row["edges"] is None else tuple(map(_edge, row["edges"]))
            gold = {"layers": layers, "mentions": mentions, "asked": asked, "label": row["label"], "edges": edges}
            yield Example(record=row["record"], id=row["id"], **gold, **fixed)


def _mention_row(mention: Mention) -> dict[str, Any]:
    plain = {name: getattr(mention, name) for name in ("start", "stop", "cluster", "first", "singleton", "role")}
    return plain | {f"head_{rule}": mention.heads.get(rule) for rule in HEAD_RULES}


def _mention(row: Mapping[str, Any]) -> Mention:
    heads = {rule: row[f"head_{rule}"] for rule in HEAD_RULES if row[f"head_{rule}"] is not None}
    return Mention(row["start"], row["stop"], row["cluster"], row["first"], row["singleton"], heads, row["role"])


def _edge(row: Mapping[str, Any]) -> EdgeTarget:
    second = None if row["span2"] is None else tuple(row["span2"])
    return EdgeTarget(tuple(row["span1"]), second, tuple(row["labels"]), row["task"])


def _asked(row: Mapping[str, Any]) -> Asked:
    return Asked(**{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()})


def _records(
    entry: Mapping[str, Any],
    raw: str | Path,
    pieces: WordPieces,
    bound: int,
    start: int,
    stop: int,
    beside: str | Path | None,
) -> Iterator[Example | Dropped]:
    if entry["reader"] == "conll2012":
        yield from islice(_windows(entry, raw, pieces, bound, beside), start, stop)
        return
    if entry["reader"] == "parallel":
        skip = entry.get("skip", 0)
        pairs = read_parallel(raw, entry["languages"], beside)
        for number, pair in enumerate(islice(pairs, skip + start, skip + stop), start=start):
            yield _from_translated(pair, number, pieces, bound)
        return
    if entry["reader"] == "edges":
        found = read_edge_records(entry["form"], entry["edge_tasks"], raw, beside, entry["part"])
        for number, edges in enumerate(islice(found, start, stop), start=start):
            yield _from_edges(edges, number, pieces, bound)
        return
    if entry["reader"] == "gap":
        for number, passage in enumerate(islice(read_gap(raw), start, stop), start=start):
            yield _from_passage(passage, number, pieces, bound)
        return
    if entry["reader"] == "glue":
        skip = entry["skip"]
        for number, item in enumerate(islice(read_glue(raw, entry["task"]), skip + start, skip + stop), start=start):
            yield (
                Dropped(number, item, "no label")
                if isinstance(item, str)
                else from_labelled(item, number, pieces, bound, entry["overlong"])
            )
        return
    if entry["reader"] == "frames":
        for number, sentence in enumerate(islice(read_frames(raw), start, stop), start=start):
            yield _from_frame(sentence, number, pieces, bound)
        return
    if entry["reader"] == "squad":
        yield from islice(_questions(entry, raw, pieces, bound), start, stop)
        return
    if entry["reader"] == "conllu":
        for number, tree in enumerate(read_conllu(raw, start, stop), start=start):
            yield _from_tree(to_stanford(tree) if entry["view"] == "stanford" else tree, number, pieces, bound)
        return
    room = bound - pieces.pair.specials
    documents = read_documents(raw, entry["lines"])
    segments = RECIPES[entry["recipe"]](documents, _speller(pieces), room, entry["seed"])
    lost: Counter[str] = Counter()
    for number, segment in enumerate(islice(segments, stop)):
        if number >= start:
            lost.update(segment.lost)
            yield _from_segment(segment, number, pieces, entry["segment_ids"])
    for reason, count in lost.items():
        _log.info("%s: %d %s were lost before these segments", raw, count, reason)


def _from_tree(tree: Tree, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    known = {name: getattr(tree, name) for name in WORD_LAYERS if hasattr(tree, name)}
    layers = {name: values for name, values in known.items() if any(value not in ("_", "") for value in values)}
    return _from_words(tree.words, record, tree.id, pieces, bound, layers)


def _from_words(
    words: Sequence[str],
    record: int,
    name: str,
    pieces: WordPieces,
    bound: int,
    layers: Mapping[str, tuple[Any, ...]],
    mentions: tuple[Mention, ...] | None = None,
) -> Example | Dropped:
    """An example of one text given in words."""
    spelled = pieces.pieces(words)
    empty = [word for word, ids in zip(words, spelled, strict=True) if not ids]
    if empty:
        return Dropped(record, name, "word without pieces", repr(empty[0]))
    assembled = pieces.assemble([spelled])
    if len(assembled.input_ids) > bound:
        return Dropped(record, name, "too long", f"{len(assembled.input_ids)} pieces, {bound} allowed")
    return replace(_example(record, name, assembled, words, layers), mentions=mentions)


def _windows(
    entry: Mapping[str, Any], raw: str | Path, pieces: WordPieces, bound: int, trees: str | Path | None
) -> Iterator[Example | Dropped]:
    """The windows of all documents, in order."""
    room = bound - pieces.single.specials
    documents = read_conll2012(raw)
    paired = trees_of_documents(documents, read_conllu(trees)) if trees is not None else ((d, None) for d in documents)
    record = 0
    for document, own_trees in paired:
        sizes = [len(ids) for ids in pieces.pieces(document.words)]
        mentions = document_mentions(document, own_trees)
        for number, (first, last) in enumerate(document_windows(document.sentence, sizes, room, entry["windows"]), start=1):
            inside, cut = mentions_between(mentions, first, last)
            if cut:
                _log.info("%s: %s: %d mentions are cut by the edge of window %d and left out", raw, document.id, cut, number)
            layers: dict[str, tuple[Any, ...]] = {"sentence": document.sentence[first:last]}
            if any(tag != "_" for tag in document.tags):
                layers["xpos"] = document.tags[first:last]
            name = document.id if entry["windows"] == "first" else f"{document.id}#{number}"
            yield _from_words(document.words[first:last], record, name, pieces, bound, layers, inside)
            record += 1


def _from_passage(passage: Passage, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    spans = (
        ("pronoun", passage.pronoun, True),
        ("A", passage.a, passage.a_coreferent),
        ("B", passage.b, passage.b_coreferent),
    )
    mentions = tuple(
        Mention(start, stop, "pronoun" if coreferent else role, heads={"last": stop - 1}, role=role)
        for role, (start, stop), coreferent in spans
    )
    return _from_words(passage.words, record, passage.id, pieces, bound, {}, mentions)


def _from_edges(edges: EdgeRecord, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    if not edges.targets:
        return Dropped(record, edges.id, "no targets")
    found = _from_words(edges.words, record, edges.id, pieces, bound, {})
    return replace(found, edges=edges.targets) if isinstance(found, Example) else found


def _from_frame(frame: FrameSentence, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    """A sentence with its target and elements, each where its words first stand."""
    words = frame.sentence.split()
    mentions = []
    for role, text in ((TARGET, frame.target), *((ELEMENT, text) for text in frame.elements)):
        start = first_occurrence(words, text.split())
        if start is None:
            return Dropped(record, frame.id, f"{role} not in the sentence", repr(text))
        mentions.append(Mention(start, start + len(text.split()), frame.frame, role=role))
    return _from_words(tuple(words), record, frame.id, pieces, bound, {}, tuple(mentions))


def _from_translated(pair: Translated, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    """A sentence word by word, with its translation as label."""
    if not pair.source or not pair.target:
        return Dropped(record, pair.id, "empty sentence or translation")
    found = _from_words(tuple(pair.source.split()), record, pair.id, pieces, bound, {})
    return replace(found, label=pair.target) if isinstance(found, Example) else found


def _questions(entry: Mapping[str, Any], raw: str | Path, pieces: WordPieces, bound: int) -> Iterator[Example | Dropped]:
    """The windows of all questions, in order."""
    record = 0
    for question in read_questions(raw, entry["order"], entry["seed"]):
        windows = question_windows(question, pieces, bound, entry["windows"], entry["stride"])
        for window in windows:
            yield _from_question(window, record, pieces)
            record += 1
        if not windows:
            yield Dropped(record, question.id, "question too long", f"no room beside it in {bound} pieces")
            record += 1


def _from_question(window: QuestionWindow, record: int, pieces: WordPieces) -> Example:
    assembled = pieces.assemble([[ids for _, ids in part] for part in (window.question, window.window)])
    words = tuple(word for word, _ in (*window.question, *window.window))
    return replace(_example(record, window.id, assembled, words, {}), asked=window.asked)


def from_labelled(item: Labelled, record: int, pieces: WordPieces, bound: int, overlong: str) -> Example | Dropped:
    """A sentence or a pair as model input.

    Args:
        item: the texts, with layers where there are some.
        record: its place in the corpus.
        pieces: the tokenizer.
        bound: longest input.
        overlong: drop it where it is longer, or truncate the longer text piece by piece.
    """
    tagged = item.tagged or tuple(Tagged(tuple(WORD.findall(text))) for text in item.texts)
    spelled = [pieces.pieces(text.words) for text in tagged]
    room = bound - (pieces.single if len(tagged) == 1 else pieces.pair).specials
    length = sum(len(ids) for text in spelled for ids in text)
    if length > room:
        if overlong == "drop":
            return Dropped(record, item.id, "too long", f"{length + bound - room} pieces, {bound} allowed")
        spelled = _truncated(spelled, room)
    kept = [[k for k, ids in enumerate(text) if ids] for text in spelled]
    if not all(kept):
        return Dropped(record, item.id, "text without pieces", repr(item.texts[0][:40]))
    assembled = pieces.assemble([[text[k] for k in own] for text, own in zip(spelled, kept, strict=True)])

    def layer(name: str) -> tuple[str, ...]:
        values = [getattr(text, name) for text in tagged]
        return tuple(own[k] for own, places in zip(values, kept, strict=True) for k in places) if all(values) else ()

    layers = {name: layer(name) for name in ("xpos", "relations")}
    known = {name: values for name, values in layers.items() if values}
    return replace(_example(record, item.id, assembled, layer("words"), known), label=item.label)


def _truncated(texts: Sequence[Sequence[Sequence[int]]], room: int) -> list[list[tuple[int, ...]]]:
    """Pieces of the words of one or two texts cut to `room`, always the last piece of the longer text (Devlin et al. 2019)."""
    sizes = [sum(map(len, text)) for text in texts]
    while sum(sizes) > room:
        sizes[int(len(sizes) == 2 and sizes[1] >= sizes[0])] -= 1
    found = []
    for text, left in zip(texts, sizes, strict=True):
        cut = []
        for ids in text:
            cut.append(tuple(ids[:left]))
            left -= len(cut[-1])
        found.append(cut)
    return found


def _from_segment(segment: Segment, record: int, pieces: WordPieces, segment_ids: str) -> Example:
    texts = [[ids for _, ids in words] for words in (segment.first, segment.second) if words]
    assembled = pieces.assemble(texts)
    if segment_ids == "zeros":
        assembled = Pieces(assembled.input_ids, assembled.tokens, (0,) * len(assembled.input_ids), assembled.word)
    words = tuple(spelling for spelling, _ in (*segment.first, *segment.second))
    return _example(record, segment.origin, assembled, words, {})


def _example(record: int, name: str, pieces: Pieces, words: Sequence[str], layers: Mapping[str, tuple[Any, ...]]) -> Example:
    return Example(record, name, pieces.input_ids, pieces.segment_ids, pieces.tokens, pieces.word, tuple(words), dict(layers))


def _speller(pieces: WordPieces) -> Any:
    def spell(text: str) -> list[Word]:
        words = text.split()
        return [(word, ids) for word, ids in zip(words, pieces.pieces(words), strict=True) if ids]

    return spell


def _report(examples: Sequence[Example], dropped: Sequence[Dropped], start: int, stop: int, raw: str | Path) -> None:
    _log.info("%s: records %d to %d: %d examples, %d dropped", raw, start, stop - 1, len(examples), len(dropped))
    for reason, count in Counter(d.reason for d in dropped).items():
        _log.warning("%s: dropped %d: %s", raw, count, reason)
    if len(examples) + len(dropped) < stop - start:
        _log.warning("%s: the corpus ends after record %d, before the limit", raw, start + len(examples) + len(dropped) - 1)
