"""Files of the sample corpus, deterministic byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from attention_atlas.io.files import write_text
from sample_corpus import LABELLED_TASKS
from sample_corpus.coreference import conll2012_lines, gap_lines
from sample_corpus.edges import edge_lines
from sample_corpus.frames import frames_json
from sample_corpus.generate import Document, Sentence, generate_documents
from sample_corpus.keyphrases import keyphrase_lines
from sample_corpus.pairs import task_lines
from sample_corpus.parallel import parallel_lines
from sample_corpus.questions import squad_json

PARALLEL_FILES = {"parallel": (0, 400), "parallel-train": (400, 3200)}
"""File -> its pairs, from the first to before the last, of one sequence without repetition."""


def write_sample(directory: str | Path, documents: int, seed: int, train_documents: int = 0) -> None:
    """Write the corpus into `directory`, each file whole or not at all.

    * ``documents.txt``: one paragraph per line, a blank line between documents;
    * ``sentences.txt``: one sentence per line, a blank line after every document (Clark et al. 2019, input of the
      unlabelled segments);
    * ``ud.conllu`` and ``sd.conllu``: CoNLL-U with the UD and the SD tree in columns 7 and 8;
    * ``sd-train.conllu``: the SD trees of `train_documents` further documents, for training;
    * ``coreference.conll``: coreference with parses in the columns of CoNLL-2012;
    * ``gap.tsv``: passages with an ambiguous pronoun in the columns of GAP;
    * ``questions.json`` and ``questions-train.json``: questions on the paragraphs of these and of the further documents, as
      SQuAD v1.1;
    * ``{task}.jsonl`` and ``{task}-train.jsonl`` for `LABELLED_TASKS`: sentences or pairs with labels and tags;
    * ``frames.json``: short sentences with a word that evokes a frame and its elements;
    * ``parallel.jsonl`` and ``parallel-train.jsonl``: sentences in English and French, `PARALLEL_FILES`;
    * ``edges.jsonl`` and ``edges-train.jsonl``: edge-probing records of eight tasks;
    * ``keyphrases.jsonl`` and ``keyphrases-train.jsonl``: first sentences with the keyphrases of their documents;
    * ``documents.jsonl``: one document per line with all layers.

    Raises:
        AtlasError: the disk is full, or a scenario or lexicon file is damaged.
    """
    folder = Path(directory)
    evaluation = list(generate_documents(documents, seed))
    training = list(generate_documents(train_documents, seed, start=documents))
    write_text(folder / "documents.txt", "\n\n".join(document.text for document in evaluation) + "\n")
    sentences = ("".join(sentence.text + "\n" for sentence in document.sentences) + "\n" for document in evaluation)
    write_text(folder / "sentences.txt", "".join(sentences))
    write_text(folder / "ud.conllu", "".join(conllu_lines(evaluation, "ud")))
    write_text(folder / "coreference.conll", "".join(conll2012_lines(evaluation)))
    write_text(folder / "gap.tsv", "".join(gap_lines(evaluation)))
    write_text(folder / "frames.json", frames_json(seed))
    write_text(folder / "documents.jsonl", "".join(map(json_line, evaluation)))
    for suffix, chosen in (("", evaluation), ("-train", training)):
        write_text(folder / f"sd{suffix}.conllu", "".join(conllu_lines(chosen, "sd")))
        write_text(folder / f"questions{suffix}.json", squad_json(chosen, seed))
        write_text(folder / f"edges{suffix}.jsonl", "".join(edge_lines(chosen)))
        write_text(folder / f"keyphrases{suffix}.jsonl", "".join(keyphrase_lines(chosen)))
        for task in LABELLED_TASKS:
            write_text(folder / f"{task}{suffix}.jsonl", "".join(task_lines(task, chosen, seed)))
    for name, (start, stop) in PARALLEL_FILES.items():
        write_text(folder / f"{name}.jsonl", "".join(parallel_lines(stop - start, seed, start)))


def conllu_lines(documents: Iterable[Document], scheme: str) -> Iterator[str]:
    """CoNLL-U text, one string per sentence; `scheme` is "ud" or "sd"."""
    for document in documents:
        for number, sentence in enumerate(document.sentences):
            header = f"# newdoc id = {document.id}\n" if number == 0 else ""
            yield header + _block(sentence, scheme)


def _block(sentence: Sentence, scheme: str) -> str:
    lines = [f"# sent_id = {sentence.id}", f"# text = {sentence.text}"]
    for position, token in enumerate(sentence.tokens, start=1):
        head, relation = getattr(token, f"{scheme}_head"), getattr(token, f"{scheme}_relation")
        misc = "_" if token.space_after or position == len(sentence.tokens) else "SpaceAfter=No"
        lines.append(f"{position}\t{token.form}\t{token.lemma}\t{token.upos}\t{token.xpos}\t_\t{head}\t{relation}\t_\t{misc}")
    return "\n".join(lines) + "\n\n"


def json_line(document: Document) -> str:
    """All layers of a document as one line of JSON."""
    data = {
        "id": document.id,
        "domain": document.domain,
        "scenario": document.scenario,
        "text": document.text,
        "paragraphs": [
            [
                {
                    "id": sentence.id,
                    "text": sentence.text,
                    "tokens": [vars(token) for token in sentence.tokens],
                    "brackets": sentence.brackets,
                    "entities": [vars(entity) for entity in sentence.entities],
                    "constructions": list(sentence.constructions),
                }
                for sentence in paragraph
            ]
            for paragraph in document.paragraphs
        ],
        "mentions": [vars(mention) for mention in document.mentions],
        "gender": document.gender,
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
