"""The official tab-separated files of GLUE, including their irregular rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from sample_corpus.generate import Document
from sample_corpus.pairs import task_lines

from attention_atlas.corpora.glue import TASKS

Pair = tuple[tuple[str, ...], str]
"""One or two texts, and their label."""
BYTE_ORDER_MARK = "\ufeff"
_PARSE = "( ( The cat ) sleeps )"
_GENRES = ("main-captions", "main-forums", "main-news")
_MNLI_GENRES = {"": ("fiction", "government", "telephone"), "mismatched": ("letters", "verbatim", "facetoface")}
MNLI_ANNOTATORS = 5


def pairs_of(task: str, documents: Sequence[Document], seed: int, count: int) -> list[Pair]:
    """The first pairs (or sentences) of a task."""
    columns = TASKS[task]
    names = [aliases[-1] for aliases in (columns.first, columns.second) if aliases]
    rows = map(json.loads, islice(task_lines(task, documents, seed), count))
    return [(tuple(row[name] for name in names), str(row[columns.label[-1]])) for row in rows]


def _joined(header: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in (header, *rows))


def mrpc(pairs: Sequence[Pair]) -> str:
    """Rows of MRPC, with a byte-order mark and an unbalanced quotation mark."""
    header = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")

    def rows() -> Iterator[Sequence[str]]:
        for k, ((first, second), label) in enumerate(pairs):
            yield label, str(700000 + 2 * k), str(700001 + 2 * k), ('"' if k % 5 == 0 else "") + first, second

    return BYTE_ORDER_MARK + _joined(header, rows())


def stsb(pairs: Sequence[Pair]) -> str:
    """Rows of STS-B: ten columns, sorted by genre."""
    header = "index genre filename year old_index source1 source2 sentence1 sentence2 score".split()
    size = -(-len(pairs) // len(_GENRES))

    def rows() -> Iterator[Sequence[str]]:
        for k, ((first, second), label) in enumerate(pairs):
            yield (
                str(k),
                _GENRES[k // size],
                "MSRvid",
                "2012test",
                f"{k:04d}",
                "none",
                "none",
                first,
                second,
                f"{float(label):.3f}",
            )

    return _joined(header, rows())


def sst2(pairs: Sequence[Pair]) -> str:
    """Rows of SST-2: sentences that end in a space, and one row of an unlabelled split, with label -1."""
    rows = ((text + " ", "-1" if k == 1 else label) for k, ((text,), label) in enumerate(pairs))
    return _joined(("sentence", "label"), rows)


def qqp(pairs: Sequence[Pair]) -> str:
    """Rows of QQP, some with a line break inside a question, some with an empty question."""
    header = "id qid1 qid2 question1 question2 is_duplicate".split()

    def rows() -> Iterator[Sequence[str]]:
        for k, ((first, second), label) in enumerate(pairs):
            start = (str(133273 + k), str(213221 + 2 * k), str(213222 + 2 * k))
            if k == 2:
                yield *start, first
                yield second, label
            else:
                yield *start, first, "" if k == 4 else second, label

    return _joined(header, rows())


def rte(pairs: Sequence[Pair]) -> str:
    """Rows of RTE: four columns."""
    return _joined(
        "index sentence1 sentence2 label".split(), ((str(k), *texts, label) for k, (texts, label) in enumerate(pairs))
    )


def qnli(pairs: Sequence[Pair]) -> str:
    """Rows of QNLI: four columns, with characters that some libraries treat as line ends."""

    def rows() -> Iterator[Sequence[str]]:
        for k, ((question, sentence), label) in enumerate(pairs):
            yield str(k), question, sentence.replace(" ", "\u2028", 1) if k == 3 else sentence, label

    return _joined("index question sentence label".split(), rows())


def mnli(pairs: Sequence[Pair], part: str) -> str:
    """Rows of MNLI: parses and the labels of one annotator (train) or five; without a majority the gold label is "-".

    Args:
        pairs: premise and hypothesis.
        part: train, dev_matched or dev_mismatched; the last has different genres.
    """
    annotators = 1 if part == "train" else MNLI_ANNOTATORS
    start = "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse".split()
    header = (*start, "sentence1", "sentence2", *(f"label{k}" for k in range(1, annotators + 1)), "gold_label")
    genres = _MNLI_GENRES["mismatched" if part.endswith("mismatched") else ""]

    def rows() -> Iterator[Sequence[str]]:
        for k, (texts, label) in enumerate(pairs):
            gold = "-" if annotators > 1 and k == 3 else label
            about = (str(k), str(31193 + k), f"{31193 + k}n", genres[k % len(genres)], *[_PARSE] * 4)
            yield *about, *texts, *[label] * annotators, gold

    return _joined(header, rows())


FILES: dict[str, tuple[str, Callable[[Sequence[Pair]], str]]] = {
    "mrpc": ("MRPC", mrpc),
    "stsb": ("STS-B", stsb),
    "sst2": ("SST-2", sst2),
    "qqp": ("QQP", qqp),
    "rte": ("RTE", rte),
    "qnli": ("QNLI", qnli),
}
"""Task -> its folder, and what writes its files train.tsv and dev.tsv; MNLI has more."""
