"""OntoNotes in columns: the folders of CoNLL-2012 and of OntoNotes 5.0 in CoNLL format.

Each document has gold and automatic annotation, and there are Chinese and Arabic files besides the English ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sample_corpus.coreference import conll2012_lines
from sample_corpus.edges import edge_record
from sample_corpus.generate import Document

from attention_atlas.corpora.layers import EdgeTarget
from attention_atlas.io.files import write_text

_CHAINS, _BEGINNING = -1, 5
_UNPARSED = (("uh", "(TOP(XX*"), ("huh", "*))"))
_FOREIGN = {"chinese": ("zh", "我们"), "arabic": ("ar", "نحن")}
_SOURCES = ("bc/cctv", "nw/wsj", "wb/eng")


def write_conll2012(documents: Sequence[Document], folder: Path) -> None:
    """Write the folders of CoNLL-2012 below a split: data/{language}/annotations/.../{name}.v4_{gold,auto}_conll."""
    _write_tree(documents, folder, ("v4_gold_conll", "v4_auto_conll"))
    for language, (name, word) in _FOREIGN.items():
        line = f"{name}/x_0000 0 0 {word} NN (TOP(NP*)) - - - - * -"
        text = f"#begin document ({name}/x_0000); part 000\n{line}\n\n#end document\n"
        write_text(folder / "data" / language / "annotations/nw/x/00/x_0000.v4_gold_conll", text)


def write_ontonotes5(documents: Sequence[Document], folder: Path) -> None:
    """Write the folders of conll-formatted-ontonotes-5.0 below a split: data/english/annotations/.../{name}.gold_conll."""
    _write_tree(documents, folder, ("gold_conll", "gold_skel"))


def _write_tree(documents: Sequence[Document], folder: Path, suffixes: tuple[str, str]) -> None:
    for number, document in enumerate(documents):
        source = _SOURCES[number % len(_SOURCES)]
        base = source.rsplit("/", 1)[-1]
        section = f"{number // 20:02d}"
        name = f"{source}/{section}/{base}_{number:04d}"
        place = folder / "data/english/annotations" / source / section
        text = _with_roles(document, name, number)
        write_text(place / f"{base}_{number:04d}.{suffixes[0]}", text)
        write_text(place / f"{base}_{number:04d}.{suffixes[1]}", text.replace("(TOP", "(AUTO"))


def _with_roles(document: Document, name: str, number: int) -> str:
    """The columns of a document, spaced as in the release, with one column for each predicate of a sentence."""
    blocks = "".join(conll2012_lines([document])).split("\n\n")
    pieces = [f"#begin document ({name}); part 000\n"]
    for place, (block, _) in enumerate(zip(blocks, document.sentences, strict=False)):
        rows = [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        predicates = _predicates(edge_record(document, place, document.sentences[place]).targets)
        columns = [_bits(predicate, spans, len(rows)) for predicate, spans in predicates.items()]
        for k, row in enumerate(rows):
            is_first, is_last = k == 0, k == len(rows) - 1
            row[_BEGINNING] = ("(TOP" if is_first else "") + row[_BEGINNING] + (")" if is_last else "")
            word = "/." if number % 7 == 3 and row[3] == "." else row[3]
            middle = [row[5], "-", "-", "-", "Speaker_1" if number % 2 else "-", row[10]]
            pieces.append("   ".join([name, "0", str(k), word, row[4], *middle, *(c[k] for c in columns), row[_CHAINS]]) + "\n")
        pieces.append("\n")
    # Sentences without a parse are one bracket around words with the tag XX.
    pieces += [f"{name}   0   {k}   {word}   XX   {bit}   -   -   -   -   *   -\n" for k, (word, bit) in enumerate(_UNPARSED)]
    return "".join([*pieces, "\n", "#end document\n"])


def _predicates(targets: Sequence[EdgeTarget]) -> dict[int, list[tuple[int, int, str]]]:
    """Predicate (position of a word) -> its arguments, except those that overlap an earlier one."""
    predicates: dict[int, list[tuple[int, int, str]]] = {}
    for target in targets:
        if target.task != "roles" or target.span2 is None:
            continue
        word, (start, stop) = target.span1[0], target.span2
        spans = predicates.setdefault(word, [])
        taken = [(word, word + 1), *((first, last) for first, last, _ in spans)]
        if all(stop <= first or last <= start for first, last in taken):
            spans.append((start, stop, target.labels[0]))
    return predicates


def _bits(predicate: int, spans: Sequence[tuple[int, int, str]], size: int) -> list[str]:
    opened: Mapping[int, str] = {start: label for start, _, label in spans} | {predicate: "V"}
    closed = {stop - 1 for _, stop, _ in spans} | {predicate}
    return [(f"({opened[k]}" if k in opened else "") + "*" + (")" if k in closed else "") for k in range(size)]
