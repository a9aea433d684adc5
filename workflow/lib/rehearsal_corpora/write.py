"""All stand-ins of the run `paper`, at the paths where its configuration expects the distributions."""

from __future__ import annotations

from pathlib import Path

from sample_corpus.coreference import gap_lines
from sample_corpus.questions import squad_json

from attention_atlas.io.files import sha256, write_text
from rehearsal_corpora.abstracts import write_inspec
from rehearsal_corpora.annotated import glove_lines, semeval_lines, spr1_lines
from rehearsal_corpora.framenet import framenet_sentences
from rehearsal_corpora.glue_files import FILES, mnli, pairs_of
from rehearsal_corpora.models import Shape, write_bert, write_marian
from rehearsal_corpora.ontonotes import write_conll2012, write_ontonotes5
from rehearsal_corpora.texts import Texts, edge_records
from rehearsal_corpora.translations import write_lines, write_sacrebleu
from rehearsal_corpora.treebanks import ewt_lines, wsj_lines
from rehearsal_corpora.wikipedia import write_wikipedia

LICENSED, MIRROR, SACREBLEU = "licensed", "mirror", "sacrebleu"
"""Folders: files that users bring, files that are downloaded, and sacrebleu's test sets."""
BERT_BASE, BERT_LARGE, TRANSFORMER_BIG = Shape(12, 12, 4), Shape(24, 16, 2), Shape(6, 16, 4)
_MIRRORED = {
    "gap-test": "gap/gap-test.tsv",
    "squad-train": "squad/train-v1.1.json",
    "squad-dev": "squad/dev-v1.1.json",
    "semeval-training": "semeval2010_task8/SemEval2010_task8_training/TRAIN_FILE.TXT",
    "stsb-train": "glue/STS-B/train.tsv",
    "stsb-dev-whole": "glue/STS-B/dev.tsv",
}
_SAME_FILE = {"semeval-development": "semeval-training", "stsb-dev": "stsb-dev-whole"}
TRAIN_ROWS, DEVELOPMENT_ROWS = 26, 20
"""Rows of a GLUE file, more than are used, since some are dropped."""
_TEST_SETS = {"wmt13": 12, "wmt09": 3, "wmt10": 3, "wmt11": 3, "wmt12": 3, "wmt14": 12, "mtnt1.1/test": 12}
_BERTS = {
    "google-bert/bert-base-uncased": (BERT_BASE, "BertForPreTraining", False),
    "google-bert/bert-base-cased": (BERT_BASE, "BertForPreTraining", True),
    "models/bert-large-uncased": (BERT_LARGE, "BertForPreTraining", False),
    "models/bert-large-uncased-whole-word-masking": (BERT_LARGE, "BertForPreTraining", False),
    "models/bert-large-uncased-whole-word-masking-finetuned-squad": (BERT_LARGE, "BertForQuestionAnswering", False),
}


def write_stand_ins(folder: str | Path, texts: Texts | None = None) -> dict[str, str]:
    """Write all distributions and models below a folder.

    Returns:
        Corpus of the registry -> SHA-256 of the stand-in of its download.

    Raises:
        AtlasError: the disk is full, or a lexicon of the generated text is damaged.
    """
    place, texts = Path(folder), texts or Texts()
    write_corpora(place, texts)
    _write_models(place, texts)
    digests = {corpus: sha256(place / MIRROR / file) for corpus, file in _MIRRORED.items()}
    return digests | {corpus: digests[original] for corpus, original in _SAME_FILE.items()}


def write_corpora(place: Path, texts: Texts) -> None:
    """Write all distributions below a folder."""
    _write_licensed(place / LICENSED, texts)
    _write_glue(place, texts)
    _write_translations(place, texts)
    _write_mirror(place / MIRROR, texts)
    write_wikipedia(texts.evaluation, place / "wikimedia/wikipedia")


def _write_licensed(licensed: Path, texts: Texts) -> None:
    write_text(licensed / "wsj/dev.conllu", "".join(wsj_lines(texts.evaluation[:6])))
    write_text(licensed / "wsj/train.conllu", "".join(wsj_lines(texts.training[:8])))
    write_text(licensed / "ud-2.2/en_ewt-ud-dev.conllu", "".join(ewt_lines(texts.evaluation[:4])))
    write_text(licensed / "ud-2.2/en_ewt-ud-train.conllu", "".join(ewt_lines(texts.training[:6])))
    write_conll2012(texts.evaluation[:24], licensed / "conll-2012/development")
    write_ontonotes5(texts.training[:6], licensed / "conll-formatted-ontonotes-5.0/train")
    write_ontonotes5(texts.evaluation[:4], licensed / "conll-formatted-ontonotes-5.0/development")
    write_text(licensed / "spr1/spr1.train.json", "".join(spr1_lines(texts.training, 6)))
    write_text(licensed / "spr1/spr1.dev.json", "".join(spr1_lines(texts.evaluation, 4)))
    write_inspec([*texts.training, *texts.evaluation], licensed / "Hulth2003.tar.gz")
    write_text(licensed / "framenet_473.json", framenet_sentences(texts.seed, 24))
    records = (record for _, _, record in edge_records([*texts.training[:8], *texts.evaluation[:6]]))
    write_text(licensed / "glove.6B.100d.txt", "".join(glove_lines(records, texts.seed)))


def _write_glue(place: Path, texts: Texts) -> None:
    parts = {"train": (texts.training, TRAIN_ROWS), "dev": (texts.evaluation, DEVELOPMENT_ROWS)}
    for task, (name, rows_of) in FILES.items():
        # STS-B is downloaded; users provide all others.
        folder = place / MIRROR / "glue" if task == "stsb" else place / LICENSED / "glue"
        for part, (documents, count) in parts.items():
            write_text(folder / name / f"{part}.tsv", rows_of(pairs_of(task, documents, texts.seed, count)))
    for part, documents in (("train", texts.training), ("dev_matched", texts.evaluation), ("dev_mismatched", texts.evaluation)):
        start = 20 if part == "dev_mismatched" else 0
        pairs = pairs_of("mnli", documents[start:], texts.seed, TRAIN_ROWS)
        write_text(place / LICENSED / "glue/MNLI" / f"{part}.tsv", mnli(pairs, part))


def _write_translations(place: Path, texts: Texts) -> None:
    pairs, start = texts.translated, 0
    for name, count in _TEST_SETS.items():
        write_sacrebleu(place / SACREBLEU, name, pairs[start : start + count])
        start += count
    for name, count in (("train", 48), ("valid", 14), ("test", 14)):
        # The German side is French: only two line-aligned languages are needed.
        turned = [(french, english) for english, french in pairs[start : start + count]]
        write_lines(place / LICENSED / "iwslt14", name, ("de", "en"), turned)
        start += count


def _write_mirror(mirror: Path, texts: Texts) -> None:
    write_text(mirror / _MIRRORED["gap-test"], "".join(gap_lines(texts.evaluation)))
    write_text(mirror / _MIRRORED["squad-train"], squad_json(texts.training[:6], texts.seed))
    write_text(mirror / _MIRRORED["squad-dev"], squad_json(texts.evaluation[:6], texts.seed))
    write_text(mirror / _MIRRORED["semeval-training"], semeval_lines(texts.training, 90))


def _write_models(place: Path, texts: Texts) -> None:
    vocabulary = [document.text for document in (*texts.training, *texts.evaluation)]
    for number, (name, (shape, kind, cased)) in enumerate(_BERTS.items(), start=1):
        write_bert(place / name, shape, vocabulary, texts.seed + number, kind, cased)
    write_marian(place / "models/opus-mt-tc-big-en-fr", TRANSFORMER_BIG, texts.translated, texts.seed)
