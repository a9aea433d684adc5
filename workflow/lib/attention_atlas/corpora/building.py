"""Build examples: the records of a corpus as model inputs, one shard at a time, and a table of the dropped records."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.corpora.alignment import Pieces, WordPieces, last_that_fits
from attention_atlas.corpora.conllu import SeveralRootsError, tree_builders
from attention_atlas.corpora.edges import EdgeRecord
from attention_atlas.corpora.examples import RECORD, WORD_LAYERS, Example, write_examples
from attention_atlas.corpora.frames import ELEMENT, TARGET, FrameSentence, first_occurrence
from attention_atlas.corpora.gap import Passage
from attention_atlas.corpora.glue import NO_HEAD, Labelled, Tagged, Unusable
from attention_atlas.corpora.keyphrases import KeyphraseDocument, without_words
from attention_atlas.corpora.mentions import Mention
from attention_atlas.corpora.parallel import Translated
from attention_atlas.corpora.questions import QuestionWindow, question_windows
from attention_atlas.corpora.records import raw_records
from attention_atlas.corpora.sampling import in_record_order, sampled
from attention_atlas.corpora.segments import RECIPES, Loss, Segment, Word
from attention_atlas.corpora.stanford import to_stanford
from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.corpora.trees import Tree
from attention_atlas.corpora.windows import document_mentions, document_windows, mentions_between, trees_of_documents
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Dropped:
    """A dropped record and the reason, or text that yielded no record.

    Attributes:
        record: number of the record; for text without a record, number of the next one.
        id: its name, or where the text starts.
        reason, detail: reason and details.
        unit, n: what was dropped: one record, or a number of sentences or pairs of paragraphs.
    """

    record: int
    id: str
    reason: str
    detail: str = ""
    unit: str = RECORD
    n: int = 1


def build_shard(
    entry: Mapping[str, Any],
    raw: str | Path,
    tokenizer: str | Path,
    max_tokens: int,
    start: int,
    out: str | Path,
    dropped_out: str | Path,
    companion: str | Path | None = None,
) -> None:
    """Write the examples of records start .. start + shard - 1 of a corpus, and the table of dropped records.

    Args:
        entry: registry entry of the corpus.
        raw: its file.
        tokenizer: the model's tokenizer.json.
        max_tokens: longest input of the model, in tokens; the corpus may set a smaller maximum.
        start: first record.
        out: Parquet file to write (columns: `SCHEMA`).
        dropped_out: tab-separated table to write: the fields of `Dropped`.
        companion: second file of the corpus: the sentences of a coreference corpus as CoNLL-U, for head words by
            dependencies; the sentences of proto-roles; or the translations of a parallel corpus.

    Raises:
        AtlasError: the input is invalid, or the first shard of the corpus has no example.
    """
    corpus = _Corpus(entry, raw, WordPieces(tokenizer), min(entry["max_tokens"], max_tokens), companion)
    stop = start + entry["shard"]
    examples: list[Example] = []
    dropped: list[Dropped] = []
    for item in _READERS[entry["reader"]](corpus, start, stop):
        if isinstance(item, Example):
            examples.append(item)
        else:
            dropped.append(item)
    if not examples and start == 0:
        reasons = "; ".join(_reasons(dropped)) or "it has no records"
        raise AtlasError(f"{raw}: no usable example among the first {entry['shard']} records ({reasons}).")
    _report(examples, dropped, start, stop, raw)
    write_examples(out, examples)
    columns = [name.name for name in fields(Dropped)]
    write_table(pd.DataFrame([astuple(record) for record in dropped], columns=columns), dropped_out)


@dataclass(frozen=True)
class _Corpus:
    """Inputs for building examples, see `build_shard`; `bound` is the longest input in tokens."""

    entry: Mapping[str, Any]
    raw: str | Path
    pieces: WordPieces
    bound: int
    companion: str | Path | None

    def records(self) -> Iterable[Any]:
        """What its reader yields."""
        return raw_records(self.entry, self.raw, self.companion)


_Items = Iterator[Example | Dropped]


def _numbered(corpus: _Corpus, start: int, stop: int) -> Iterator[tuple[int, Any]]:
    """Records start .. stop - 1 of a corpus with their numbers, counted in its order after the skipped records."""
    entry = corpus.entry
    records = sampled(corpus.records, entry["order"], entry["seed"], entry["skip"] + start, entry["skip"] + stop)
    return ((number, record) for number, (_, record) in enumerate(records, start=start))


def _segments(corpus: _Corpus, start: int, stop: int) -> _Items:
    entry, pieces = corpus.entry, corpus.pieces
    room = corpus.bound - pieces.pair.specials
    documents = iter(corpus.records())
    recipe, spell = RECIPES[entry["recipe"]], _speller(pieces, entry["lines"])
    number = 0
    for item in recipe(documents, spell, room, entry["seed"], entry.get("per_document"), entry["order"]):
        if isinstance(item, Loss):
            # Text lost before the first segment of the next shard belongs to that shard.
            if start <= number < stop:
                yield Dropped(number, item.origin, item.reason, unit=item.unit, n=item.n)
            continue
        if number >= stop:
            return
        if number >= start:
            yield _from_segment(item, number, pieces, entry["segment_ids"])
        number += 1


def _trees(corpus: _Corpus, start: int, stop: int) -> _Items:
    without_label: Counter[str] = Counter()
    for number, build in _numbered(corpus, start, stop):
        try:
            tree = build()
        except SeveralRootsError as error:
            yield Dropped(number, error.sentence, "several roots", error.fault)
            continue
        if corpus.entry["view"] == "stanford":
            relations, tree = tree.relations, to_stanford(tree, corpus.raw)
            without_label.update(ud for ud, stanford in zip(relations, tree.relations, strict=True) if stanford == "dep")
        yield _from_tree(tree, number, corpus.pieces, corpus.bound)
    if without_label:
        counts = ", ".join(f"{relation} {count}" for relation, count in without_label.most_common())
        _log.info("%s: words with the Stanford relation dep, by their UD relation: %s", corpus.raw, counts)


def _pairs(corpus: _Corpus, start: int, stop: int) -> _Items:
    for number, pair in _numbered(corpus, start, stop):
        yield _from_translated(pair, number, corpus.pieces, corpus.bound)


def _edges(corpus: _Corpus, start: int, stop: int) -> _Items:
    for number, build in _numbered(corpus, start, stop):
        try:
            record = build()
        except SeveralRootsError as error:
            yield Dropped(number, error.sentence, "several roots", error.fault)
            continue
        yield _from_edges(record, number, corpus.pieces, corpus.bound)


def _passages(corpus: _Corpus, start: int, stop: int) -> _Items:
    for number, passage in _numbered(corpus, start, stop):
        yield _from_passage(passage, number, corpus.pieces, corpus.bound)


def _labelled(corpus: _Corpus, start: int, stop: int) -> _Items:
    entry = corpus.entry
    for number, item in _numbered(corpus, start, stop):
        yield (
            Dropped(number, item.id, item.reason, item.detail)
            if isinstance(item, Unusable)
            else from_labelled(item, number, corpus.pieces, corpus.bound, entry["overlong"])
        )


def _frames(corpus: _Corpus, start: int, stop: int) -> _Items:
    for number, sentence in _numbered(corpus, start, stop):
        yield _from_frame(sentence, number, corpus.pieces, corpus.bound)


def _documents(corpus: _Corpus, start: int, stop: int) -> _Items:
    entry = corpus.entry
    for number, document in _numbered(corpus, start, stop):
        yield from_document(document, number, corpus.pieces, corpus.bound, entry["overlong"], entry["stemmed"])


def _sentences(corpus: _Corpus, start: int, stop: int) -> _Items:
    for number, (line, sentence) in _numbered(corpus, start, stop):
        words = sentence.split()
        spaces = spaces_in(sentence, words)
        yield _from_words(words, number, f"line {line}", corpus.pieces, corpus.bound, {}, spaces=spaces)


def _windows(corpus: _Corpus, start: int, stop: int) -> _Items:
    return islice(_all_windows(corpus), start, stop)


def _questions(corpus: _Corpus, start: int, stop: int) -> _Items:
    return islice(_all_questions(corpus), start, stop)


_READERS: dict[str, Callable[[_Corpus, int, int], _Items]] = {
    "segments": _segments,
    "conllu": _trees,
    "conll2012": _windows,
    "gap": _passages,
    "squad": _questions,
    "glue": _labelled,
    "frames": _frames,
    "parallel": _pairs,
    "edges": _edges,
    "keyphrases": _documents,
    "sentences": _sentences,
}
"""Reader -> the records start .. stop - 1, as examples or as dropped records."""


def _from_tree(tree: Tree, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    known = {name: getattr(tree, name) for name in WORD_LAYERS if hasattr(tree, name)}
    layers = {name: values for name, values in known.items() if any(value not in ("_", "") for value in values)}
    return _of_document(_from_words(tree.words, record, tree.id, pieces, bound, layers, spaces=tree.spaces), tree.document)


def _from_words(
    words: Sequence[str],
    record: int,
    name: str,
    pieces: WordPieces,
    bound: int,
    layers: Mapping[str, tuple[Any, ...]],
    mentions: tuple[Mention, ...] | None = None,
    spaces: Sequence[bool] = (),
) -> Example | Dropped:
    """An example with one text, from its words and the spaces before them (by rule if empty)."""
    spelled = pieces.pieces(words, spaces)
    empty = [word for word, ids in zip(words, spelled, strict=True) if not ids]
    if empty:
        return Dropped(record, name, "word without tokens", repr(empty[0]))
    assembled = pieces.assemble([spelled])
    if len(assembled.input_ids) > bound:
        return Dropped(record, name, "too long", f"{len(assembled.input_ids)} tokens, {bound} allowed")
    return replace(_example(record, name, assembled, words, layers), mentions=mentions)


def _of_document(item: Example | Dropped, document: str | None) -> Example | Dropped:
    """An example with the name of its document."""
    return replace(item, document=document) if isinstance(item, Example) else item


def _all_windows(corpus: _Corpus) -> _Items:
    """The windows of all documents, in the order of the corpus."""
    entry, pieces, bound = corpus.entry, corpus.pieces, corpus.bound
    room = bound - pieces.single.specials
    documents, trees = iter(corpus.records()), corpus.companion
    # Parse only the trees of the requested documents.
    paired = (
        trees_of_documents(documents, tree_builders(trees)) if trees is not None else ((d, None) for d in documents)
    )  # fmt: skip
    record = 0
    for document, builders in in_record_order(list(paired), entry["order"], entry["seed"]):
        document_trees = None if builders is None else [build() for build in builders]
        sizes = [len(ids) for ids in pieces.pieces(document.words)]
        mentions = document_mentions(document, document_trees)
        for number, (first, last) in enumerate(document_windows(document.sentence, sizes, room, entry["windows"]), start=1):
            inside, cut = mentions_between(mentions, first, last)
            if cut:
                where = (corpus.raw, document.id, cut, number)
                _log.info("%s: %s: %d mentions cross the edge of window %d and are skipped", *where)
            layers: dict[str, tuple[Any, ...]] = {"sentence": document.sentence[first:last]}
            if any(tag != "_" for tag in document.tags):
                layers["xpos"] = document.tags[first:last]
            name = document.id if entry["windows"] == "first" else f"{document.id}#{number}"
            yield _of_document(
                _from_words(document.words[first:last], record, name, pieces, bound, layers, inside), document.id
            )
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
    item = _from_words(passage.words, record, passage.id, pieces, bound, {}, mentions, passage.spaces)
    return _of_document(item, passage.document)


def _from_edges(edges: EdgeRecord, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    if not edges.targets:
        return Dropped(record, edges.id, "no targets")
    example = _from_words(edges.words, record, edges.id, pieces, bound, {}, spaces=edges.spaces)
    return _of_document(replace(example, edges=edges.targets), edges.document) if isinstance(example, Example) else example


def from_document(
    document: KeyphraseDocument, record: int, pieces: WordPieces, bound: int, overlong: str, stemmed: bool
) -> Example | Dropped:
    """A document with its keyphrases as model input.

    Args:
        document: words, tags and phrases.
        record: its position in the corpus.
        pieces: the tokenizer.
        bound: longest input in tokens.
        overlong: drop a longer document, or truncate it after the last whole word that fits.
        stemmed: whether phrases were matched by stems.
    """
    if not document.phrases:
        return Dropped(record, document.id, "no keyphrases")
    sizes = [len(ids) for ids in pieces.pieces(document.words, document.spaces)]
    # Symbols that the tokenizer drops must not cause the whole document to be dropped.
    unread = {place for place, size in enumerate(sizes) if not size}
    if unread:
        _log.info("%s: %d words have no tokens and are skipped", document.id, len(unread))
        document, sizes = without_words(document, unread), list(filter(None, sizes))
    if not sizes:
        return Dropped(record, document.id, "text without tokens")
    if overlong == "truncate":
        fitting = last_that_fits(sizes, 0, bound - pieces.single.specials)
        if fitting < len(sizes):
            document = document.shortened(fitting, stemmed)
    layers = {"tags": document.tags}
    example = _from_words(document.words, record, document.id, pieces, bound, layers, spaces=document.spaces)
    return replace(example, keyphrases=document.keyphrases) if isinstance(example, Example) else example


def _from_frame(frame: FrameSentence, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    """A sentence with its target and elements, each at its first occurrence."""
    words = frame.sentence.split()
    mentions = []
    for role, text in ((TARGET, frame.target), *((ELEMENT, text) for text in frame.elements)):
        start = first_occurrence(words, text.split())
        if start is None:
            return Dropped(record, frame.id, f"{role} not in the sentence", repr(text))
        mentions.append(Mention(start, start + len(text.split()), frame.frame, role=role))
    return _from_words(tuple(words), record, frame.id, pieces, bound, {}, tuple(mentions))


def _from_translated(pair: Translated, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    """A sentence in words, with its translation as label."""
    if not pair.source or not pair.target:
        return Dropped(record, pair.id, "empty sentence or translation")
    words = pair.source.split()
    example = _from_words(words, record, pair.id, pieces, bound, {}, spaces=spaces_in(pair.source, words))
    return replace(example, label=pair.target) if isinstance(example, Example) else example


def _all_questions(corpus: _Corpus) -> _Items:
    """The windows of all questions, in the order of the corpus."""
    entry, pieces, bound = corpus.entry, corpus.pieces, corpus.bound
    record = 0
    for question in in_record_order(list(corpus.records()), entry["order"], entry["seed"]):
        if isinstance(question, Unusable):
            yield Dropped(record, question.id, question.reason, question.detail)
            record += 1
            continue
        windows = question_windows(question, pieces, bound, entry["windows"], entry["stride"])
        for window in windows:
            yield _from_question(window, record, pieces)
            record += 1
        if not windows:
            yield Dropped(record, question.id, "question too long", f"no room beside it in {bound} tokens")
            record += 1


def _from_question(window: QuestionWindow, record: int, pieces: WordPieces) -> Example:
    assembled = pieces.assemble([[ids for _, ids in part] for part in (window.question, window.window)])
    words = tuple(word for word, _ in (*window.question, *window.window))
    return replace(_example(record, window.id, assembled, words, {}), question=window.annotation)


def from_labelled(item: Labelled, record: int, pieces: WordPieces, bound: int, overlong: str) -> Example | Dropped:
    """A sentence or a pair as model input.

    Args:
        item: the texts, with layers if there are any.
        record: its position in the corpus.
        pieces: the tokenizer.
        bound: longest input in tokens.
        overlong: drop a longer input, or truncate the longer text token by token.
    """
    tagged = item.tagged or tuple(Tagged(tuple(WORD.findall(text))) for text in item.texts)
    spelled = [pieces.pieces(t.words, spaces_in(text, t.words)) for t, text in zip(tagged, item.texts, strict=True)]
    room = bound - (pieces.single if len(tagged) == 1 else pieces.pair).specials
    length = sum(len(ids) for text in spelled for ids in text)
    if length > room:
        if overlong == "drop":
            return Dropped(record, item.id, "too long", f"{length + bound - room} tokens, {bound} allowed")
        spelled = _truncated(spelled, room)
    positions = [[k for k, ids in enumerate(text) if ids] for text in spelled]
    if not all(positions):
        return Dropped(record, item.id, "text without tokens", repr(item.texts[0][:40]))
    assembled = pieces.assemble([[text[k] for k in places] for text, places in zip(spelled, positions, strict=True)])

    def layer(name: str) -> tuple[Any, ...]:
        columns = [getattr(text, name) for text in tagged]
        if not all(columns):
            return ()
        return tuple(values[k] for values, places in zip(columns, positions, strict=True) for k in places)

    layers = {name: layer(name) for name in ("xpos", "relations")} | {"heads": _kept_heads(tagged, positions)}
    known = {name: values for name, values in layers.items() if values}
    return replace(_example(record, item.id, assembled, layer("words"), known), label=item.label, texts=item.texts)


def _kept_heads(texts: Sequence[Tagged], positions: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Heads of the kept words of one or two texts, as positions among all kept words, from 1; empty if a text has no heads."""
    if not all(text.heads for text in texts):
        return ()
    heads: list[int] = []
    for text, places in zip(texts, positions, strict=True):
        kept = {place: len(heads) + k for k, place in enumerate(places, start=1)}
        heads += [0 if text.heads[k] == 0 else kept.get(text.heads[k] - 1, NO_HEAD) for k in places]
    return tuple(heads)


def _truncated(texts: Sequence[Sequence[Sequence[int]]], room: int) -> list[list[tuple[int, ...]]]:
    """Word pieces of one or two texts, truncated to `room` by removing the last one of the longer text (Devlin et al. 2019)."""
    sizes = [sum(map(len, text)) for text in texts]
    while sum(sizes) > room:
        sizes[int(len(sizes) == 2 and sizes[1] >= sizes[0])] -= 1
    truncated = []
    for text, remaining in zip(texts, sizes, strict=True):
        words: list[tuple[int, ...]] = []
        for ids in text:
            words.append(tuple(ids[:remaining]))
            remaining -= len(words[-1])
        truncated.append(words)
    return truncated


def _from_segment(segment: Segment, record: int, pieces: WordPieces, segment_ids: str) -> Example:
    texts = [[ids for _, ids in words] for words in (segment.first, segment.second) if words]
    assembled = pieces.assemble(texts)
    if segment_ids == "zeros":
        assembled = Pieces(assembled.input_ids, assembled.tokens, (0,) * len(assembled.input_ids), assembled.word)
    words = tuple(spelling for spelling, _ in (*segment.first, *segment.second))
    return replace(_example(record, segment.origin, assembled, words, {}), document=segment.document)


def _example(record: int, name: str, pieces: Pieces, words: Sequence[str], layers: Mapping[str, tuple[Any, ...]]) -> Example:
    return Example(record, name, pieces.input_ids, pieces.segment_ids, pieces.tokens, pieces.word, tuple(words), dict(layers))


def _speller(pieces: WordPieces, lines: str) -> Any:
    def spell(text: str) -> list[Word]:
        words = text.split()
        # WikiText has spaces around punctuation.
        spaces = () if lines == "wikitext" else spaces_in(text, words)
        return [(word, ids) for word, ids in zip(words, pieces.pieces(words, spaces), strict=True) if ids]

    return spell


def _reasons(dropped: Iterable[Dropped]) -> list[str]:
    """How many of what were dropped for each reason, as "2 sentences: too long"."""
    counts: Counter[tuple[str, str]] = Counter()
    for item in dropped:
        counts[item.unit, item.reason] += item.n
    return [f"{count} {unit}{'' if count == 1 else 's'}: {reason}" for (unit, reason), count in counts.items()]


def _report(examples: Sequence[Example], dropped: Sequence[Dropped], start: int, stop: int, raw: str | Path) -> None:
    dropped_records = sum(d.unit == RECORD for d in dropped)
    _log.info("%s: records %d to %d: %d examples, %d dropped", raw, start, stop - 1, len(examples), dropped_records)
    for reason in _reasons(dropped):
        _log.warning("%s: dropped %s", raw, reason)
    records = len(examples) + dropped_records
    if records < stop - start:
        # Whether this is before the limit of a run is not known here: shards are the same for all limits.
        _log.info("%s: the corpus ends after record %d, within this shard", raw, start + records - 1)
