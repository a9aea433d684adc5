"""The results of a run on one page: verdicts on published values and claims, and the code that made them.

python tools/results.py RUN   write results/RUN/results.md and print its summary; options of Snakemake may follow

The page is refused where the results are not those of this code and configuration.
"""

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

import pandas as pd  # noqa: E402
import yaml  # noqa: E402

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.files import write_text  # noqa: E402
from attention_atlas.io.tables import read_table  # noqa: E402
from attention_atlas.published.compare import FIXED_NOTE, VERDICT_NOTE, claim_page, totals  # noqa: E402
from attention_atlas.scoreboard.tables import CLAIMS, SUMMARY, VERDICT_COLUMNS  # noqa: E402
from attention_atlas.workflow.artifacts import made_with  # noqa: E402
from attention_atlas.workflow.config import read_configuration  # noqa: E402
from tools.markdown import frame_table  # noqa: E402

CODE = ("workflow", "config", "config.yaml", "Snakefile")
"""Where the code and the configuration of results are."""
_CONFIG = ("--config", "-C")
_ENTRY = re.compile(r"[\w-]+=")
# Target rules have no output.
_OUTPUTS = re.compile(r"^ +output: (.+)$", re.MULTILINE)


def run_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of the name of a run and its overlays, for tools that pass options that they do not know on to Snakemake."""
    # No abbreviations: --config is an option of Snakemake.
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("run", nargs="?", default="sample")
    parser.add_argument("--configfile", nargs="*", type=Path, default=[])
    return parser


def overlays_of(run: str, named: Sequence[Path], root: Path) -> list[Path]:
    """Files that overlay config.yaml: those that the user names, or else the one that `make atlas` wrote for the run."""
    written = root / "results" / run / "config.yaml"
    return [path.absolute() for path in named] or ([written] if written.is_file() else [])


def with_overlays(options: Sequence[str], overlays: Sequence[Path]) -> list[str]:
    """Options of Snakemake, and the one that names overlays if there are any."""
    return [*options, *(["--configfile", "config.yaml", *map(str, overlays)] if overlays else [])]


def configuration_of(root: Path, overlays: Sequence[Path], options: Sequence[str] = ()) -> dict[str, Any]:
    """The configuration of a folder with overlays and with the entries of `--config` among Snakemake's options."""
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


def jobs_to_do(run: str, folder: Path, options: Sequence[str] = (), targets: Sequence[str] = ()) -> list[list[str]]:
    """The outputs of each job that Snakemake would start to build a run, or some of its files."""
    entries = list(_entries(options))
    # The profile's `quiet` hides the jobs of a dry run; here they must be shown.
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--workflow-profile", "workflow/profiles/local"]
    command += [option for option in options if option not in {*entries, *_CONFIG}]
    further = [entry for entry in entries if not entry.startswith("targets=")]
    command += ["--quiet", "host", "--config", f"targets=[{run}]", *further]
    done = subprocess.run([*command, "--", *targets], cwd=folder, check=False, capture_output=True, text=True)
    shown = done.stdout + done.stderr
    if done.returncode:
        raise AtlasError(f"the run {run} cannot be planned; Snakemake says:\n{shown.strip()[-2000:]}")
    return [outputs.split(", ") for outputs in _OUTPUTS.findall(shown)]


def made_by() -> str:
    commit = _git("rev-parse", "--short=12", "HEAD")
    version = f"Commit {commit}" if commit else "A copy without a git history"
    if commit and _git("status", "--porcelain", "--", *CODE):
        version += " with uncommitted changes"
    return f"{version}."


def _git(*arguments: str) -> str:
    """Output of git in this checkout; empty where there is no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.strip()


def write_results(run: str, folder: Path, code: str) -> tuple[Path, str]:
    """Write the page; returns its path, and the summary."""
    summary, claims = read_table(folder / "scoreboard.tsv", SUMMARY), read_table(folder / "claims.tsv", CLAIMS)
    page = folder / "results.md"
    values, counts = value_counts(summary), "\n\n".join(totals(claims))
    libraries = [f"Made with {versions}." for versions in made_with(folder)]
    parts = [f"# Results of the run `{run}`", code, *libraries, "## Published values", values, "## Claims", counts]
    write_text(page, "\n\n".join([*parts, VERDICT_NOTE, FIXED_NOTE, claims_table(claims)]) + "\n")
    return page, "\n\n".join((code, values, counts))


def value_counts(summary: pd.DataFrame) -> str:
    """Values of each study by verdict, as Markdown; verdicts without values are left out."""
    kept = [name for name in VERDICT_COLUMNS.values() if summary[name].any()]
    return frame_table(summary[["study", "values", *kept]])


def claims_table(claims: pd.DataFrame) -> str:
    """Claims with statistic, threshold and interval, as Markdown."""
    return frame_table(claim_page(claims).rename(columns={"threshold": "holds if", "level": "coverage"}))


def main() -> int:
    """Write the page and print its summary."""
    chosen, options = run_parser(__doc__).parse_known_args()
    options = with_overlays(options, overlays_of(chosen.run, chosen.configfile, ROOT))
    try:
        page, summary = current_results(chosen.run, options)
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{summary}\n\n{page.relative_to(ROOT)} has all claims with their intervals.")
    return 0


def current_results(run: str, options: Sequence[str]) -> tuple[Path, str]:
    """The page of a run that is built; as `write_results`."""
    if not (ROOT / "results" / run / "scoreboard.tsv").is_file():
        raise AtlasError(f"results/{run}/scoreboard.tsv is missing: build the run first.")
    scoreboard = [f"results/{run}/{name}.tsv" for name in ("scoreboard", "claims")]
    if jobs := jobs_to_do(run, ROOT, options, scoreboard):
        raise AtlasError(f"results/{run} is out of date: {len(jobs)} jobs have to run for this code; build the run first.")
    return write_results(run, ROOT / "results" / run, made_by())


if __name__ == "__main__":
    sys.exit(main())
