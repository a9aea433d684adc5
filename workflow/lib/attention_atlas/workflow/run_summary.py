"""Summary at the end of a workflow: artefacts that are built, verdicts, and the pages to open."""

from __future__ import annotations

import csv
from pathlib import Path

from attention_atlas.published.claim_counts import CLAIM_COUNTS
from attention_atlas.published.page_declarations import INDEX
from attention_atlas.workflow.artifact_list import ListedArtifact, listed_artifacts
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.paths import RESULTS, results_of

_PAGES = {INDEX: "all tables and figures", "atlas/atlas.html": "all heads", "scoreboard.html": "values and claims by study"}


def summary(config: Config, failed: bool = False) -> str:
    """A few lines for each target run, by the files that exist.

    Args:
        config: the resolved configuration, without missing optional resources.
        failed: some jobs failed, so how to go on is said, too.
    """
    results = results_of(config)
    lines: list[str] = []
    for run in config["targets"]:
        listed = listed_artifacts(config, run)
        skipped = sum(bool(entry.skipped) for entry in listed)

        def built(entry: ListedArtifact, run: str = run) -> bool:
            return all(Path(results + path.removeprefix(RESULTS)).is_file() for path in entry.paths(run))

        counts = []
        for kind in ("table", "figure"):
            of_kind = [entry for entry in listed if not entry.skipped and entry.artifact.kind == kind]
            counts.append(f"{sum(map(built, of_kind))} of {len(of_kind)} {kind}s")
        lines += [f"{run}: {config['runs'][run].get('title', run)}", f"  {' and '.join(counts)}"]
        if skipped:
            lines.append(f"  {skipped} skipped: `make check RUN={run}` says why")
        scoreboard = Path(f"{results}{run}/scoreboard.tsv")
        if scoreboard.is_file():
            with scoreboard.open(encoding="utf-8", newline="") as rows:
                total = next(row for row in csv.DictReader(rows, delimiter="\t") if row["study"] == "all")
            lines.append(f"  claims: {', '.join(f'{total[column]} {verdict}' for column, verdict in CLAIM_COUNTS.items())}")
        pages = {f"{results}{run}/{page}": title for page, title in _PAGES.items()}
        lines += [f"  open {page} ({title})" for page, title in pages.items() if Path(page).is_file()]
    if failed:
        lines.append("Start the same command again to continue, or summarise the studies that are built:")
        lines += [f"  make results RUN={run} PARTIAL=yes" for run in config["targets"]]
    return "\n".join(lines)
