"""Caches of a run: how large they are by model and corpus, and which can be removed without making a table out of date.

python tools/cache.py RUN              print them; options of Snakemake, such as --configfile, may follow
python tools/cache.py RUN --remove     remove those that can be removed

A removed cache is rebuilt when a job that reads it runs again: attention takes one pass of the model, weights take their
training.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.workflow.caches import Cache, Use, caches, remove, use_of  # noqa: E402
from tools.to_do import jobs_to_do, outputs_of, overlays_of, run_parser, with_overlays  # noqa: E402


def used_caches(run: str, options: Sequence[str], folder: Path) -> list[tuple[Cache, Use]]:
    """Caches of a run, largest first, each with the jobs that need it.

    Raises:
        AtlasError: the run has no results, or it cannot be planned.
    """
    if not (folder / "results" / run).is_dir():
        raise AtlasError(f"results/{run} does not exist: the run {run} has not been built here.")
    listed = caches(folder, run)
    if not listed:
        return []
    to_do = [(job.rule, job.inputs, job.outputs) for job in jobs_to_do(run, folder, options)]
    outputs = outputs_of(run, folder, options, all_jobs=True)
    return [(cache, use_of(cache, to_do, outputs)) for cache in listed]


def state(use: Use) -> str:
    """What can be done with a cache, in words."""
    if use.makers:
        return f"will be rebuilt by {', '.join(use.makers)}"
    if use.readers:
        return f"needed by pending jobs of {', '.join(use.readers)}"
    return "can be removed" if use.part_of_run else "can be removed: no longer part of the run"


def lines(listed: Sequence[tuple[Cache, Use]]) -> list[str]:
    """The table, one line per cache."""
    rows = [("kind", "model", "corpus", "files", "MB", "state")]
    rows += [(c.kind, c.model, c.corpus, str(len(c.files)), f"{c.size / 1e6:.1f}", state(use)) for c, use in listed]
    columns = list(zip(*rows, strict=True))
    numbers = ("files", "MB")
    aligned = []
    for column in columns:
        width = max(map(len, column))
        aligned.append([cell.rjust(width) if column[0] in numbers else cell.ljust(width) for cell in column])
    return ["  ".join(cells).rstrip() for cells in zip(*aligned, strict=True)]


def main() -> int:
    """Print the caches of a run; remove what can be, if asked to."""
    parser = run_parser(__doc__)
    parser.add_argument("--remove", action="store_true")
    chosen, options = parser.parse_known_args()
    options = with_overlays(options, overlays_of(chosen.run, chosen.configfile, ROOT))
    try:
        listed = used_caches(chosen.run, options, ROOT)
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    removable = [cache for cache, use in listed if use.removable]
    total, free = (sum(cache.size for cache in part) / 1e6 for part in ([cache for cache, _ in listed], removable))
    print("\n".join(lines(listed)))
    print(f"\n{len(listed)} caches of {chosen.run}: {total:.1f} MB, of which {free:.1f} MB can be removed", end="")
    if not chosen.remove:
        print(f" (make cache RUN={chosen.run} REMOVE=yes)" if removable else "")
        return 0
    for cache in removable:
        remove(ROOT, cache)
    print(": removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
