"""The results of a run on one page: verdicts on published values and claims, and the code that made them.

python tools/results.py RUN            write results/RUN/results.md and print its summary; options of Snakemake may follow
python tools/results.py RUN --partial  where jobs failed: the scoreboard of the studies that are built, in results/RUN/partial

Without --partial the page is refused where the results are not those of this code and configuration.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.files import write_text  # noqa: E402
from attention_atlas.io.markdown import table  # noqa: E402
from attention_atlas.io.tables import read_table  # noqa: E402
from attention_atlas.published.results_page import claim_counts, results_page, verdict_table  # noqa: E402
from attention_atlas.published.scoreboard import CLAIMS, SUMMARY, write_scoreboard  # noqa: E402
from attention_atlas.workflow.built import BuiltStudy, built_studies  # noqa: E402
from attention_atlas.workflow.config import resolve  # noqa: E402
from attention_atlas.workflow.inputs.scoreboard import ScoreboardInputs  # noqa: E402
from attention_atlas.workflow.provenance import library_digest  # noqa: E402
from tools.to_do import configuration_of, jobs_to_do, outputs_of, overlays_of, run_parser, with_overlays  # noqa: E402

CODE = ("workflow", "config", "config.yaml", "Snakefile")
"""Where the code and the configuration of results are."""


def made_by(root: Path | None = None) -> str:
    """The commit of a checkout (default: this one), whether files differ from it, and the digest of its library."""
    commit = _git("rev-parse", "--short=12", "HEAD", root=root)
    changed = _git("status", "--porcelain", "--", *CODE, root=root)
    version = f"Commit {commit}" if commit else "A copy without a git history"
    if commit and changed:
        version += " with uncommitted changes"
    workflow = root / "workflow" if root else None
    digest = library_digest(workflow / "lib", workflow / "scripts") if workflow else library_digest()
    return f"{version}; digest of the library {digest}."


def _git(*arguments: str, root: Path | None) -> str:
    """Output of git in a checkout; empty where there is no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root or ROOT, check=False, capture_output=True, text=True)
    except OSError:
        return ""
    return "" if done.returncode else done.stdout.strip()


def write_results(run: str, folder: Path, code: str, notes: Sequence[str] = ()) -> tuple[Path, str]:
    """Write the page; returns its path, and the summary.

    Args:
        run: name of the run.
        folder: with the tables of the scoreboard.
        code: what made them.
        notes: remarks at the top of the page.

    Raises:
        AtlasError: the scoreboard is missing.
    """
    if not (folder / "scoreboard.tsv").is_file():
        raise AtlasError(f"{folder / 'scoreboard.tsv'} is missing: build the run first.")
    summary, claims = read_table(folder / "scoreboard.tsv", SUMMARY), read_table(folder / "claims.tsv", CLAIMS)
    page = folder / "results.md"
    made = "\n\n".join((code, *notes))
    write_text(page, results_page(f"Results of the run `{run}`", made, summary, claims))
    return page, "\n\n".join((made, verdict_table(summary), claim_counts(summary)))


def write_partial_scoreboard(run: str, listed: Sequence[BuiltStudy], configuration: Mapping[str, Any], folder: Path) -> None:
    """Write the tables of the scoreboard from the studies whose comparison is up to date.

    Args:
        run: name of the run.
        listed: its studies.
        configuration: that of the run.
        folder: where the tables are written.

    Raises:
        AtlasError: no study has a comparison, or a table cannot be used.
    """
    comparisons = {part.study: part.comparison for part in listed if part.comparison}
    if not comparisons:
        raise AtlasError(f"results/{run}: no study of this run has a comparison.tsv yet; see the logs in results/{run}/logs.")
    config = resolve(configuration)
    claims = {part.study: part.claims for part in listed if part.claims}
    tables = [folder / f"{name}.{suffix}" for name in ("comparison", "scoreboard", "claims") for suffix in ("tsv", "html")]
    generated = ScoreboardInputs(config).reads_sample(SimpleNamespace(run=run))
    absent = [part.study for part in listed if not part.comparison]
    left_out = f". Not built, and not in these tables: {', '.join(absent)}" if absent else ""
    write_scoreboard(comparisons, claims, f"{config['runs'][run]['title']}{left_out}", generated, *tables)


def built_table(listed: Sequence[BuiltStudy]) -> str:
    """What is built of each study, as Markdown."""
    rows = []
    for part in listed:
        count = f"{len(part.built)} of {len(part.built) + len(part.absent)}"
        rows.append([part.study, count, ", ".join(part.absent), "yes" if part.comparison else "no"])
    return table(("study", "built", "not built", "in this scoreboard"), rows)


def main() -> int:
    """Write the page and print its summary."""
    parser = run_parser(__doc__)
    parser.add_argument("--partial", action="store_true")
    chosen, options = parser.parse_known_args()
    overlays = overlays_of(chosen.run, chosen.configfile, ROOT)
    options = with_overlays(options, overlays)
    try:
        write = partial_results if chosen.partial else complete_results
        page, summary = write(chosen.run, options, overlays)
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{summary}\n\n{page.relative_to(ROOT)} has all claims with their intervals.")
    return 0


def complete_results(run: str, options: Sequence[str], overlays: Sequence[Path]) -> tuple[Path, str]:
    """The page of a run that is built; as `write_results`.

    Raises:
        AtlasError: it is not built, or not by this code and configuration.
    """
    if not (ROOT / "results" / run / "scoreboard.tsv").is_file():
        raise AtlasError(
            f"results/{run}/scoreboard.tsv is missing: build the run first, or, where some of its jobs failed, add --partial "
            f"(make results RUN={run} PARTIAL=yes)."
        )
    scoreboard = [f"results/{run}/{name}.tsv" for name in ("scoreboard", "claims")]
    if jobs := jobs_to_do(run, ROOT, options, scoreboard):
        raise AtlasError(
            f"results/{run} is out of date for this code and configuration: {len(jobs)} jobs have to run; build the run "
            f"first, or take what is up to date (make results RUN={run} PARTIAL=yes)."
        )
    return write_results(run, ROOT / "results" / run, made_by())


def partial_results(run: str, options: Sequence[str], overlays: Sequence[Path]) -> tuple[Path, str]:
    """The scoreboard and the page of what is built of a run; as `write_results`.

    Raises:
        AtlasError: nothing is, or the run cannot be planned.
    """
    listed = built_studies(ROOT, run, outputs_of(run, ROOT, options, all_jobs=True), outputs_of(run, ROOT, options))
    folder = ROOT / "results" / run / "partial"
    write_partial_scoreboard(run, listed, configuration_of(ROOT, overlays, options), folder)
    notes = ("Some jobs of this run have not finished. Artefacts that are up to date:", built_table(listed))
    return write_results(run, folder, made_by(), notes)


if __name__ == "__main__":
    sys.exit(main())
