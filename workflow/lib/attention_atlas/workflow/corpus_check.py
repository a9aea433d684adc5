"""Which readers can read a user's file or folder, which records they drop, and which artefacts a run with it has."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_atlas.corpora.glue import TASKS
from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.errors import AtlasError, first_line
from attention_atlas.io.files import DAMAGED, open_binary, read_yaml
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.lookups import FOLDER_READERS
from attention_atlas.workflow.needs import is_part_of
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.study import Study

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example

RECORDS = 2000
"""Maximum number of records that are read from a file."""
NAME, RUN = "mine", "mine"
"""Name of the corpus and of the run in the overlay."""
TEMPLATE = "sample"
"""Run from which the overlay takes everything else that a study needs."""
_FIRST_LINES, _TABS = 100, 2
"""Lines of a file that show whether it is running text, and tabs of a line in columns."""
_FOLDER_FORMATS = ("conll2012", "entities")
_FIVE_TASKS = ("pos", "constituents", "entities", "roles", "coreference")
_EDGES = {
    "records": ("relations",),
    "conllu": ("pos", "dependencies"),
    "propositions": ("roles",),
    "conll2012": _FIVE_TASKS,
    "entities": ("entities",),
    "semeval": ("relations",),
}
# The role of a corpus in a study, by its reader; other roles with that reader need a separate corpus.
_MAIN_ROLES = {
    "conllu": (("clark2019", "dependencies"), ("atlas", "sentences")),
    "segments": (("clark2019", "segments"),),
    "conll2012": (("clark2019", "coreference"),),
    "gap": (("clark2019", "gap"),),
    "squad": (("guan2020", "questions"),),
    "frames": (("kovaleva2019", "frames"),),
    "parallel": (("michel2019", "translation"),),
    "keyphrases": (("stefanik2021", "documents"),),
}
Entry = dict[str, Any]


@dataclass(frozen=True)
class Attempt:
    """Result of reading a file with one reader.

    Attributes:
        label: the reader, with its task or format.
        entry: registry entry of a corpus, without its source.
        records: number of records read, kept and dropped.
        dropped: reason -> number of records.
        refusal: why the reader cannot read the file; empty if it can.
    """

    label: str
    entry: Entry
    records: int = 0
    dropped: Mapping[str, int] | None = None
    refusal: str = ""


def candidates(path: Path) -> Iterator[tuple[str, Entry]]:
    """Label and registry entry of each reader, with its task or format, for a file or a folder."""
    folder = path.is_dir()
    # A tree of CoNLL-2012 has gold files and automatic ones of the same documents.
    conll = {"files": "*gold_conll" if folder and next(path.rglob("*gold_conll"), None) else "*conll"}
    for reader in ("conllu", "conll2012", "gap", "squad", "frames", "keyphrases"):
        if not folder or reader in FOLDER_READERS:
            yield reader, {"reader": reader} | (conll if reader == "conll2012" else {})
    for form, tasks in _EDGES.items():
        if not folder or form in _FOLDER_FORMATS:
            files = conll if form == "conll2012" else {}
            tasks = _named_tasks(path) or tasks if form == "records" else tasks
            yield f"edges, {form}", {"reader": "edges", "format": form, "edge_tasks": list(tasks)} | files
    if not folder:
        for task in TASKS:
            yield f"glue, {task}", {"reader": "glue", "task": task, "overlong": "truncate"}
        yield "vectors", {"reader": "vectors"}
        if languages := _languages(path):
            yield "parallel", {"reader": "parallel", "languages": languages}


def _named_tasks(path: Path) -> tuple[str, ...]:
    """Tasks named in the first lines of a file of edge-probing records; empty if there are none."""
    named: set[str] = set()
    try:
        with open_binary(path) as stream:
            for line in islice(stream, RECORDS):
                named |= {target["task"] for target in json.loads(line)["targets"] if "task" in target}
    except (*DAMAGED, ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(task for task in EDGE_TASKS if task in named)


def _languages(path: Path) -> list[str]:
    """Languages of a file with one JSON object of two texts on each line; empty for other files."""
    try:
        with open_binary(path) as stream:
            row = json.loads(stream.readline())
    except (*DAMAGED, ValueError, RecursionError):
        return []
    texts = row.get("translation", row) if isinstance(row, dict) else {}
    codes = [key for key, value in texts.items() if isinstance(value, str) and len(key) in (2, 3)]
    return codes if len(codes) == 2 else []


def attempts(path: Path, tokenizer: Path, configuration: Mapping[str, Any], max_tokens: int = 512) -> list[Attempt]:
    """Try every reader on a file or a folder; plain text only if no other reader can read it and it looks like text.

    Args:
        path: the file or folder.
        tokenizer: tokenizer.json of the model.
        configuration: the shipped configuration, which supplies defaults for keys that an entry does not set.
        max_tokens: longest input of the model, in tokens.

    Raises:
        AtlasError: there is no such file or folder.
    """
    if not path.exists():
        raise AtlasError(f"{path}: there is no such file or folder.")
    tried = [_attempt(path, tokenizer, configuration, max_tokens, label, entry) for label, entry in candidates(path)]
    if not path.is_dir() and all(attempt.refusal for attempt in tried):
        text: Entry = {"reader": "segments", "lines": "paragraphs", "recipe": "clean"}
        if form := _structured(path):
            tried.append(Attempt("segments", text, refusal=f"{path}: it looks like {form}, not like running text."))
        else:
            tried.append(_attempt(path, tokenizer, configuration, max_tokens, "segments", text))
    return sorted(tried, key=lambda attempt: bool(attempt.refusal))


def _structured(path: Path) -> str:
    """What a file is rather than running text, by its first lines: XML, JSON or columns; empty for text."""
    try:
        with open_binary(path) as stream:
            lines = [line.strip() for line in islice(stream, _FIRST_LINES) if line.strip()]
    except DAMAGED:
        return ""
    if not lines:
        return ""
    for start, form in ((b"<", "XML"), (b"{", "JSON"), (b"[", "JSON")):
        if lines[0].startswith(start):
            return form
    in_columns = sum(line.count(b"\t") >= _TABS for line in lines)
    return "a table or a treebank" if 2 * in_columns >= len(lines) else ""


def _vectors(path: Path, label: str, entry: Entry) -> Attempt:
    """Result of reading a file as word vectors, from its first lines."""
    from attention_atlas.corpora.word_vectors import read_vector_file

    try:
        with open_binary(path) as stream:
            lines = [line.split() for line in islice(stream, RECORDS)]
        if not lines or any(len(line) < 3 for line in lines[1:]):
            raise AtlasError(f"{path}: each line of word vectors needs a word and its numbers.")
        words = {line[0].decode() for line in lines}
        if not (count := len(read_vector_file(path, words).index)):
            raise AtlasError(f"{path}: no line has a word and its numbers.")
        return Attempt(label, entry, count, {})
    except UnicodeDecodeError:
        return Attempt(label, entry, refusal=f"{path}: not UTF-8.")
    except DAMAGED as error:
        return Attempt(
            label, entry, refusal=f"{path}: the compressed file is damaged or incomplete ({first_line(error, 100)})."
        )
    except AtlasError as error:
        return Attempt(label, entry, refusal=first_line(error, 300))


def _attempt(
    path: Path, tokenizer: Path, configuration: Mapping[str, Any], max_tokens: int, label: str, entry: Entry
) -> Attempt:
    from attention_atlas.corpora.building import build_shard
    from attention_atlas.corpora.examples import RECORD, read_examples
    from attention_atlas.io.tables import read_table

    if entry["reader"] == "vectors":
        return _vectors(path, label, entry)
    named = entry | {"source": {"path": str(path)}, "limit": RECORDS, "shard": RECORDS, "order": "file"}
    whole = resolve(merged(dict(configuration), {"corpora": {NAME: named}}))["corpora"][NAME]
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "examples.parquet"), Path(folder, "dropped.tsv")
        try:
            build_shard(whole, path, tokenizer, max_tokens, 0, *files)
        except AtlasError as error:
            return Attempt(label, entry, refusal=first_line(error, 300))
        dropped = read_table(files[1])
        reasons = Counter[str]()
        for reason, number in zip(dropped["reason"], dropped["n"], strict=True):
            reasons[str(reason)] += int(number)
        lost = int((dropped["unit"] == RECORD).sum())
        examples = list(read_examples([files[0]], RECORDS))
        if refusal := _unlikely(path, entry, examples):
            return Attempt(label, entry, refusal=refusal)
        return Attempt(label, entry, len(examples) + lost, dict(reasons))


def _unlikely(path: Path, entry: Entry, examples: Sequence[Example]) -> str:
    """Why a file that a reader can read is of another kind: columns without chains, or labels of another task."""
    if entry["reader"] == "conll2012" and not any(example.mentions for example in examples):
        return f"{path}: its last column has no coreference chains."
    labels = {example.label for example in examples}
    if entry.get("task") == "sst2" and not labels <= {"0", "1"}:
        return f"{path}: its labels are {', '.join(sorted(map(str, labels)))[:100]}, not 0 and 1."
    return ""


def overlay(path: Path, attempt: Attempt, configuration: Mapping[str, Any], model: str) -> Entry:
    """An overlay of the shipped configuration with a run of the studies that can use the corpus; empty if none can.

    Everything else that a study needs is taken from the generated sample.
    """
    reader = attempt.entry["reader"]
    entry = attempt.entry | {"title": path.name, "source": {"path": str(path.resolve())}}
    entry |= {"limit": attempt.records, "shard": min(attempt.records, 256)}
    corpora = {NAME: entry}
    run: Entry = {"title": f"{path.name}", "model": model}
    template = configuration["runs"][TEMPLATE]
    if reader == "glue":
        run["kovaleva2019"] = _required(template, "kovaleva2019") | {"tasks": {attempt.entry["task"]: NAME}}
    elif reader == "edges":
        parts = {part: f"{NAME}-{part}" for part in ("training", "development")}
        corpora = {name: entry | {"part": part} for part, name in parts.items()}
        run["tenney2019"] = {"tasks": dict.fromkeys(attempt.entry["edge_tasks"], parts)}
    for study, role in _MAIN_ROLES.get(reader, ()):
        run[study] = _required(template, study) | {role: NAME}
    if not run.keys() & studies().keys():
        return {}
    return {"targets": [RUN], "corpora": corpora, "runs": {RUN: run}}


def _required(template: Mapping[str, Any], study: str) -> Entry:
    """The settings that a study requires in a run, and its model."""
    declared = studies()[study]
    keys = [*declared.settings_schema(read_yaml)["required"], "model"]
    return {key: template[study][key] for key in keys if key in template[study]}


def possible_artifacts(configuration: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, list[str]]:
    """Study -> artefacts of the overlay's run that read its corpus.

    Raises:
        AtlasError: the overlay does not fit the configuration.
    """
    config = resolve(merged(dict(configuration), added))
    run = config["runs"][RUN]
    by_study: dict[str, list[str]] = {}
    for study in studies().values():
        if study.id not in run:
            continue
        roles = {key for key in study.roles if run[study.id].get(key) == NAME}
        listed = [one.id for one in study.artifacts if is_part_of(config, RUN, study, one) and _reads(study, one, roles)]
        if listed:
            by_study[study.id] = listed
    return by_study


def _reads(study: Study, artifact: Any, roles: set[str]) -> bool:
    """Whether an artefact reads one of the roles; all artefacts of a study read its tasks."""
    return not roles or study.overview or bool(roles & {*artifact.needs, *artifact.uses})
