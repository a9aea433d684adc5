"""The results of a run on one page: verdicts on published values and claims, and the code that made them.

python tools/results.py RUN            write results/RUN/results.md and print its summary; options of Snakemake may follow

The page is refused where the results are not those of this code and configuration.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.files import write_text  # noqa: E402
from attention_atlas.io.tables import read_table  # noqa: E402
from attention_atlas.published.results_page import claim_counts, results_page, verdict_table  # noqa: E402
from attention_atlas.published.scoreboard import CLAIMS, SUMMARY  # noqa: E402
from attention_atlas.workflow.provenance import library_digest  # noqa: E402

CODE = ("workflow", "config", "config.yaml", "Snakefile")
"""Where the code and the configuration of results are."""
_JOBS = re.compile(r"^total +(\d+)$", re.M)


def made_by() -> str:
    """The commit, whether files differ from it, and the digest of the library."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--", *CODE)
    version = f"Commit {commit}" if commit else "A copy without a git history"
    if commit and changed:
        version += " with uncommitted changes"
    return f"{version}; digest of the library {library_digest()}."


def _git(*arguments: str) -> str:
    """Output of git; empty where there is no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.strip()


def jobs_to_do(run: str, options: list[str]) -> int:
    """How many jobs Snakemake would run to bring the scoreboard of a run up to date.

    Raises:
        AtlasError: the workflow cannot be planned.
    """
    targets = [f"results/{run}/{name}.tsv" for name in ("scoreboard", "claims")]
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--config", f"targets=[{run}]", *options]
    done = subprocess.run([*command, "--", *targets], cwd=ROOT, check=False, capture_output=True, text=True)
    shown = done.stdout + done.stderr
    if done.returncode:
        raise AtlasError(f"the run {run} cannot be planned: {shown.strip().splitlines()[-1] if shown.strip() else 'no output'}")
    counts = _JOBS.findall(shown)
    return int(counts[-1]) if counts else 0


def write_results(run: str, results: Path, code: str) -> tuple[Path, str]:
    """Write the page; returns its path, and the summary.

    Raises:
        AtlasError: the scoreboard is missing.
    """
    folder = results / run
    if not (folder / "scoreboard.tsv").is_file():
        raise AtlasError(f"{folder / 'scoreboard.tsv'} is missing: build the run first.")
    summary, claims = read_table(folder / "scoreboard.tsv", SUMMARY), read_table(folder / "claims.tsv", CLAIMS)
    page = folder / "results.md"
    write_text(page, results_page(f"Results of the run `{run}`", code, summary, claims))
    return page, "\n\n".join((code, verdict_table(summary), claim_counts(summary)))


def main() -> int:
    """Write the page and print its summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="sample")
    chosen, options = parser.parse_known_args()
    try:
        if not (ROOT / "results" / chosen.run / "scoreboard.tsv").is_file():
            raise AtlasError(f"results/{chosen.run}/scoreboard.tsv is missing: build the run first.")
        if jobs := jobs_to_do(chosen.run, options):
            raise AtlasError(
                f"results/{chosen.run} was not made by this code and configuration: {jobs} jobs are to be done; build the run "
                "first."
            )
        page, summary = write_results(chosen.run, ROOT / "results", made_by())
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{summary}\n\n{page.relative_to(ROOT)} has all claims with their intervals.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
