"""Summary at the end of a workflow: artefacts, verdicts, failures, skipped artefacts, and files to open."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.published.claim_counts import CLAIM_COUNTS
from attention_atlas.published.page_declarations import INDEX
from attention_atlas.workflow.artifact_list import ListedArtifact, listed_artifacts
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.paths import RESULTS, results_of
from attention_atlas.workflow.progress import job_name

_COMPARABLE = {"match": "match", "interval_covers_it": "are covered by our interval", "differs": "differ"}
_PAGES = {"atlas/atlas.html": "all heads", "scoreboard.html": "published values and claims by study"}
_WIDTH = 12


@dataclass(frozen=True)
class Outcome:
    """Outcome of the jobs of one start of the workflow.

    Attributes:
        requested: outputs of all jobs that lead to the targets.
        made: outputs of the jobs that succeeded.
        not_made: outputs of the jobs that failed, or depend on one that failed.
        failed: job -> its log file; empty if it has none.
        failed_runs: runs of the failed jobs.
    """

    requested: frozenset[str]
    made: frozenset[str]
    not_made: frozenset[str]
    failed: Mapping[str, str]
    failed_runs: tuple[str, ...] = ()


def outcome_of(workflow: Any) -> Outcome:
    """The outcome of a Snakemake workflow that has ended."""
    dag = workflow.dag
    to_run = list(dag.needrun_jobs(exclude_finished=False))
    finished = [job for job in to_run if dag.finished(job)]
    waiting = [job for job in to_run if not dag.finished(job)]
    jobs = [part for job in workflow.scheduler.failed for part in (job.jobs if job.is_group() else [job])]
    failed = {job_name(job.rule.name, job.wildcards_dict): str(job.log[0]) if job.log else "" for job in jobs}
    runs = {job.wildcards_dict["run"] for job in jobs if "run" in job.wildcards_dict}
    made, not_made = _outputs(finished), _outputs(waiting)
    return Outcome(_outputs(dag.jobs), made, not_made, dict(sorted(failed.items())), tuple(sorted(runs)))


def _outputs(jobs: Collection[Any]) -> frozenset[str]:
    return frozenset(str(path) for job in jobs for path in job.output)


def summary(config: Config, outcome: Outcome) -> str:
    """A few lines for each target run, and the failed jobs.

    Args:
        config: the resolved configuration, without missing optional resources.
        outcome: outcome of the jobs.
    """
    lines: list[str] = []
    for run in config["targets"]:
        lines += _of_run(config, run, outcome)
    if outcome.failed:
        lines.append(f"Failed jobs: {len(outcome.failed)}; see their logs (if a log shows no error, the job was killed):")
        lines += [f"  {name}: {log}" if log else f"  {name}" for name, log in outcome.failed.items()]
        lines.append("Start the same command again to continue, or summarise the studies that are built:")
        lines += [f"  make results RUN={run} PARTIAL=yes" for run in outcome.failed_runs]
    return "\n".join(lines)


def _of_run(config: Config, run: str, outcome: Outcome) -> list[str]:
    """Lines on a run; none if none of its artefacts was requested."""
    results = results_of(config)

    def files(entry: ListedArtifact) -> list[str]:
        return [results + path.removeprefix(RESULTS) for path in entry.paths(run)]

    listed = listed_artifacts(config, run)
    asked = [entry for entry in listed if not entry.skipped and outcome.requested.issuperset(files(entry))]
    if not asked:
        return []
    missing = [entry for entry in asked if not outcome.not_made.isdisjoint(files(entry))]
    built = [entry for entry in asked if entry not in missing]
    made = [entry for entry in built if not outcome.made.isdisjoint(files(entry))]
    skipped = [entry for entry in listed if entry.skipped]
    rows: list[tuple[str, str]] = [("artefacts", _counts(built, made))]
    if missing:
        rows += [("not built", line) for line in _by_study(missing, asked)]
    # A single artefact was requested: what else the run skips does not matter.
    if skipped and len(asked) + len(skipped) == len(listed):
        rows += [("skipped", f"{', '.join(names)}: {reason}") for reason, names in _by_reason(skipped)]
    scoreboard = f"{results}{run}/scoreboard.tsv"
    if scoreboard in outcome.requested - outcome.not_made:
        rows += _verdicts(Path(scoreboard))
    rows += [("open", place) for place in _places(f"{results}{run}/", outcome, built, files)]
    return [f"{run}: {config['runs'][run]['title']}", *(f"  {name:<{_WIDTH}}{text}" for name, text in rows)]


def _counts(built: Sequence[ListedArtifact], made: Sequence[ListedArtifact]) -> str:
    figures = sum(entry.artifact.kind == "figure" for entry in built)
    tables = len(built) - figures
    kinds = " and ".join(
        f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in ((tables, "table"), (figures, "figure")) if count
    )
    before = len(built) - len(made)
    return f"{kinds or 'none'}" + (f", {before} of them already up to date" if before else "")


def _by_study(missing: Sequence[ListedArtifact], asked: Sequence[ListedArtifact]) -> Iterator[str]:
    """For each study, the artefacts that are missing of those that were asked for."""
    requested = Counter(entry.study.id for entry in asked)
    absent: dict[str, list[str]] = {}
    for entry in missing:
        absent.setdefault(entry.study.id, []).append(entry.artifact.id)
    for study, names in absent.items():
        whole = len(names) == requested[study]
        yield f"{study}: all {len(names)}" if whole else f"{study}: {', '.join(names)} ({len(names)} of {requested[study]})"


def _by_reason(skipped: Sequence[ListedArtifact]) -> Iterator[tuple[str, list[str]]]:
    """Reason -> artefacts skipped for this reason."""
    names: dict[str, list[str]] = {}
    for entry in skipped:
        names.setdefault(entry.skipped, []).append(entry.name)
    yield from names.items()


def _verdicts(scoreboard: Path) -> list[tuple[str, str]]:
    """Number of claims by verdict, and of published values if any is comparable."""
    with scoreboard.open(encoding="utf-8", newline="") as lines:
        total = next(row for row in csv.DictReader(lines, delimiter="\t") if row["study"] == "all")

    def counts(columns: Mapping[str, str]) -> str:
        return ", ".join(f"{total[column]} {verdict}" for column, verdict in columns.items())

    rows = [("claims", counts(CLAIM_COUNTS))]
    comparable = sum(int(total[column]) for column in _COMPARABLE)
    if comparable:
        rows.append(("published", f"{comparable} of {total['values']} values are comparable: {counts(_COMPARABLE)}"))
    else:
        rows.append(("published", f"none of {total['values']} values is comparable: other models, data or sizes"))
    return rows


def _places(folder: str, outcome: Outcome, built: Sequence[ListedArtifact], files: Any) -> Iterator[str]:
    """Files to open first."""
    ready = outcome.requested - outcome.not_made
    if folder + INDEX in ready:
        yield f"{folder}{INDEX} (all tables and figures)"
        yield from (f"{folder}{page} ({title})" for page, title in _PAGES.items() if folder + page in ready)
    else:
        shown = [files(entry)[0] for entry in built]
        yield from shown[:3]
        if len(shown) > 3:
            yield f"{folder} ({len(shown) - 3} more)"
