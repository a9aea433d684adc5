"""Check before the first job that all that a run needs is present, or which artefacts a corpus of your own allows.

python tools/check.py run RUN                 corpora, models, optional packages and disk; status 1 if any is missing
python tools/check.py corpus FILE             which readers can read a file or folder, and which artefacts a run with it has
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

import yaml  # noqa: E402

from attention_atlas.errors import AtlasError, did_you_mean  # noqa: E402
from attention_atlas.io.files import write_text  # noqa: E402
from attention_atlas.models.card import ModelCard, read_card  # noqa: E402
from attention_atlas.models.loading import describe  # noqa: E402
from attention_atlas.workflow.caches import caches, disk_shortage, forecast  # noqa: E402
from attention_atlas.workflow.config import environment, read_configuration, resolve  # noqa: E402
from attention_atlas.workflow.corpus_check import RECORDS, attempts, fault_of, measure_lengths, overlay, possible_artifacts  # noqa: E402
from attention_atlas.workflow.preflight import Preflight, as_text, as_tsv, preflight  # noqa: E402

MOST_FILES = 20
"""Maximum number of files of a folder that are read one by one."""


def check_run(run: str, overlays: list[Path], missing: str | None) -> Preflight:
    """Everything that a run needs, by its declarations, and the disk space of its attention maps.

    Raises:
        AtlasError: the configuration is wrong, or there is no such run.
    """
    configuration = read_configuration(ROOT, overlays) | {"targets": [run]} | ({"missing": missing} if missing else {})
    config = resolve(configuration)
    os.environ.update(environment(config))
    outcome = preflight(config, run, [], partial(fault_of, config))
    measure_lengths(config, {need.requirement.name for group in outcome.groups for need in group} & config["corpora"].keys())
    _, needed = forecast(config, caches(config))
    maps = Path("results", run, "attention").rglob("*.safetensors")
    shortage = disk_shortage(config, needed - sum(path.stat().st_size for path in maps))
    return replace(outcome, shortfalls=(shortage,) if shortage else ())


def check_corpus(path: Path, model: str, overlays: list[Path]) -> int:
    """Print the result of each reader on a file, or on a folder and its files; status 1 if none can read any of them.

    Raises:
        AtlasError: there is no such file, or no such model.
    """
    configuration = read_configuration(ROOT, overlays)
    models = resolve(configuration)["models"]
    if model not in models:
        raise AtlasError(f"there is no model '{model}'{did_you_mean(model, models)} in the registry.")
    entry = with_files(model, models)
    with tempfile.TemporaryDirectory() as folder:
        card, tokenizer = Path(folder, "card.json"), Path(folder, "tokenizer.json")
        describe(model, entry, card, tokenizer)
        inside = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else []
        shown = (path, *inside[:MOST_FILES])
        taken = [_print_attempts(place, tokenizer, configuration, model, read_card(card)) for place in shown]
    if len(inside) > MOST_FILES:
        print(f"\n{path}: {len(inside) - MOST_FILES} more files are not checked one by one; name one of them to check it.")
    return int(not any(taken))


def with_files(model: str, models: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Registry entry of a model whose tokenizer is on this machine or on the hub: for a fine-tuned one, that of its base.

    Raises:
        AtlasError: the run trains the model from nothing.
    """
    entry = models[model]
    while "fine_tuned" in entry["source"]:
        entry = models[entry["source"]["fine_tuned"]]
    if "untrained" in entry["source"]:
        raise AtlasError(f"{model}: only a run makes its tokenizer. Name another model, such as MODEL=minilm.")
    return entry


def _print_attempts(path: Path, tokenizer: Path, configuration: dict[str, Any], model: str, card: ModelCard) -> bool:
    tried = attempts(path, tokenizer, configuration, card.max_tokens)
    shown: set[str] = set()
    print(f"\n{path}")
    for attempt in tried:
        if attempt.refusal:
            print(f"  no   {attempt.label}: {attempt.refusal}")
            continue
        lost = "; ".join(f"{number} {reason}" for reason, number in (attempt.dropped or {}).items())
        what = f"dropped: {lost}" if lost else "none dropped"
        first = "the first " if attempt.records >= RECORDS else ""
        print(f"  yes  {attempt.label}: {first}{attempt.records} records read, {what}")
        if first:
            print("       There may be more: raise limit in the overlay to use them.")
        if attempt.entry["reader"] in shown:
            print("       as for this reader above, with this task or format.")
            continue
        shown.add(attempt.entry["reader"])
        added = overlay(path, attempt, configuration, model)
        if not added:
            print("       no study can run on this file alone.")
            continue
        for study, listed in possible_artifacts(configuration, added).items():
            print(f"       {study}: {', '.join(listed)}")
        print("       overlay, for snakemake --configfile config.yaml mine.yaml:\n")
        # Without anchors, which YAML writes for repeated values.
        written = yaml.safe_dump(json.loads(json.dumps(added)), sort_keys=False, allow_unicode=True, default_flow_style=None)
        print(textwrap.indent(written, " " * 9))
    return not all(attempt.refusal for attempt in tried)


def main() -> int:
    """Check a run or a corpus; status 1 if a run cannot be built as it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    of_run = kinds.add_parser("run", help="what a run needs")
    of_run.add_argument("name", nargs="?", default="sample")
    of_run.add_argument("--configfile", nargs="*", type=Path, default=[], help="overlays over config.yaml")
    of_run.add_argument("--missing", choices=("error", "skip"), help="overrides `missing` in config.yaml")
    of_run.add_argument("--tsv", type=Path, help="write the table to this file as well")
    of_corpus = kinds.add_parser("corpus", help="which readers accept a file or folder, and what can be built from it")
    of_corpus.add_argument("path", type=Path)
    of_corpus.add_argument("--model", default="minilm", help="model of the registry whose tokenizer is used")
    of_corpus.add_argument("--configfile", nargs="*", type=Path, default=[], help="overlays over config.yaml")
    chosen = parser.parse_args()
    # What readers log about a file, such as dropped records, is printed in their result.
    logging.getLogger("attention_atlas.corpora").setLevel(logging.ERROR)
    try:
        if chosen.kind == "corpus":
            return check_corpus(chosen.path, chosen.model, chosen.configfile)
        outcome = check_run(chosen.name, chosen.configfile, chosen.missing)
        print(as_text(outcome))
        if chosen.tsv:
            write_text(chosen.tsv, as_tsv(outcome))
        return int(bool(outcome.failures))
    except AtlasError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
