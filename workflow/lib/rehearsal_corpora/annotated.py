"""SPR1, SemEval-2010 task 8 and GloVe in the formats of their distributions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sample_corpus.generate import Document, Sentence

from attention_atlas.corpora.edges import EdgeRecord
from rehearsal_corpora.texts import edge_records


def spr1_lines(documents: Sequence[Document], count: int) -> Iterator[str]:
    """Records of jiant's SPR1 files: predicates and arguments; some sentences have no target, some targets no label."""
    for number, (_, _, record) in enumerate(edge_records(list(documents)[:count])):
        targets: list[dict[str, Any]] = []
        for target in record.targets:
            if target.task != "protoroles" or target.span2 is None:
                continue
            about = {"is_pilot": False, "pred_lemma": record.words[target.span1[0]].lower(), "grammatical": 5.0}
            spans = {"span2": list(target.span2), "span1": list(target.span1)}
            targets.append({**spans, "label": list(target.labels), "info": about})
        if targets and number % 9 == 4:
            targets[0]["label"] = []
        info = {"split": "train", "sent_id": f"wsj-{number}"}
        yield json.dumps({"text": " ".join(record.words), "targets": targets, "info": info}) + "\n"


def semeval_lines(documents: Sequence[Document], count: int) -> str:
    """TRAIN_FILE.TXT: a numbered sentence in quotation marks, its relation, a comment, a blank line; Windows line ends."""
    blocks: list[str] = []
    for _, sentence, record in edge_records(list(documents)):
        relation = next((t for t in record.targets if t.task == "relations" and t.span2 is not None), None)
        if relation is None or relation.span2 is None or len(blocks) == count:
            continue
        marked = _marked(sentence, {"e1": relation.span1, "e2": relation.span2})
        blocks.append(f'{len(blocks) + 1}\t"{marked}"\r\n{relation.labels[0]}\r\nComment:\r\n\r\n')
    return "".join(blocks)


def _marked(sentence: Sentence, spans: dict[str, tuple[int, int]]) -> str:
    text = ""
    for k, token in enumerate(sentence.tokens):
        opened = "".join(f"<{name}>" for name, (start, _) in spans.items() if start == k)
        closed = "".join(f"</{name}>" for name, (_, stop) in spans.items() if stop == k + 1)
        text += opened + token.form + closed + (" " if token.space_after else "")
    return text.strip()


def glove_lines(records: Iterable[EdgeRecord], seed: int, dimensions: int = 100) -> Iterator[str]:
    """Lower-cased words by descending frequency, each with its numbers; the last one is the unknown word."""
    counts: dict[str, int] = {}
    for record in records:
        for word in record.words:
            counts[word.lower()] = counts.get(word.lower(), 0) + 1
    generator = np.random.default_rng(seed)
    for word in [*sorted(counts, key=lambda word: (-counts[word], word)), "<unk>"]:
        yield word + " " + " ".join(f"{number:.5g}" for number in generator.normal(scale=0.4, size=dimensions)) + "\n"
