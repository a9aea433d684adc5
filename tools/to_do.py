"""Pending jobs of a run, as Snakemake plans them in this folder."""

from __future__ import annotations

import argparse
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

import yaml  # noqa: E402
from tools.plan import Job, jobs_in  # noqa: E402

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.workflow.config import read_configuration  # noqa: E402

_CONFIG = ("--config", "-C")
_ENTRY = re.compile(r"[\w-]+=")
_FAILURE = re.compile(r"\w*(Error|Exception)\b.* in (file|rule) ")
_AFTER = re.compile(r"Wildcards:|Traceback|  File \"")
_MOST_LINES = 12


def overlays_of(run: str, named: Sequence[Path], root: Path) -> list[Path]:
    """Files that overlay config.yaml: those that the user names, or else the one that `make atlas` wrote for the run."""
    written = root / "results" / run / "config.yaml"
    return [path.absolute() for path in named] or ([written] if written.is_file() else [])


def run_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of the name of a run and its overlays, for tools that pass options that they do not know on to Snakemake."""
    # No abbreviations: --config is an option of Snakemake.
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("run", nargs="?", default="sample")
    parser.add_argument("--configfile", nargs="*", type=Path, default=[])
    return parser


def with_overlays(options: Sequence[str], overlays: Sequence[Path]) -> list[str]:
    """Options of Snakemake, and the one that names overlays if there are any."""
    return [*options, *(["--configfile", "config.yaml", *map(str, overlays)] if overlays else [])]


def configuration_of(root: Path, overlays: Sequence[Path], options: Sequence[str] = ()) -> dict[str, Any]:
    """The configuration of a folder with overlays and with the entries of `--config` among Snakemake's options.

    Raises:
        AtlasError: an entry cannot be read.
    """
    entries = {}
    for entry in _entries(options):
        key, _, value = entry.partition("=")
        try:
            entries[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise AtlasError(f"--config {entry}: the value is not YAML.") from error
    return read_configuration(root, overlays) | entries


def _entries(options: Sequence[str]) -> Iterator[str]:
    """Entries key=value after `--config`."""
    for place, option in enumerate(options):
        if option in _CONFIG:
            yield from itertools.takewhile(_ENTRY.match, options[place + 1 :])


def _others(options: Sequence[str]) -> list[str]:
    """Options without `--config` and its entries."""
    entries = {*_entries(options), *_CONFIG}
    return [option for option in options if option not in entries]


def jobs_to_do(
    run: str, folder: Path, options: Sequence[str] = (), targets: Sequence[str] = (), all_jobs: bool = False
) -> list[Job]:
    """The jobs that Snakemake would start to build a run, or some of its files.

    Args:
        run: name of the run.
        folder: of the workflow.
        options: of Snakemake, such as `--configfile` and its files.
        targets: files; default: all of the run.
        all_jobs: also those whose files are up to date.

    Raises:
        AtlasError: the run cannot be planned.
    """
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--workflow-profile", "workflow/profiles/local"]
    entries = [entry for entry in _entries(options) if not entry.startswith("targets=")]
    command += [*(["--forceall"] if all_jobs else []), *_others(options)]
    command += ["--config", f"targets=[{run}]", *entries, "--", *targets]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    shown = done.stdout + done.stderr
    if done.returncode:
        raise AtlasError(f"the run {run} cannot be planned: {reason_in(shown)}")
    return jobs_in(shown)


def reason_in(shown: str) -> str:
    """Why Snakemake stopped, from what it printed: the message of the first exception, or the last line."""
    lines = shown.strip().splitlines()
    failed = next((place for place, line in enumerate(lines) if _FAILURE.match(line)), None)
    if failed is None:
        return lines[-1] if lines else "no output"
    message = [line for line in itertools.takewhile(lambda line: not _AFTER.match(line), lines[failed + 1 :]) if line.strip()]
    if message and message[0] == "Error:":
        message.pop(0)
    if not message:
        return lines[failed]
    message[0] = re.sub(r"^\s*\w+Error: ", "", message[0])
    left_out = [f"... and {len(message) - _MOST_LINES} more lines"] if len(message) > _MOST_LINES else []
    return "\n".join([*message[:_MOST_LINES], *left_out])


def outputs_of(run: str, folder: Path, options: Sequence[str] = (), all_jobs: bool = False) -> set[str]:
    """Outputs of the jobs of `jobs_to_do`, relative to `folder`.

    Raises:
        AtlasError: the run cannot be planned.
    """
    return {path for job in jobs_to_do(run, folder, options, all_jobs=all_jobs) for path in job.outputs}
