"""What changed from one run to another: verdicts, values and claims side by side.

python tools/diff.py A B               print what changed, and write results/diff-A-B.tsv with every row
python tools/diff.py A B --out FILE    write it there

A and B are runs of this folder (results/A), or folders of runs, such as results/sample of another clone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

import pandas as pd  # noqa: E402

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.tables import write_table  # noqa: E402
from attention_atlas.published.run_differences import (  # noqa: E402
    CHANGES,
    NUMBER,
    ONLY_FIRST,
    ONLY_SECOND,
    VERDICT,
    counts,
    run_differences,
)

LONGEST = 40
"""Rows of a kind of change that are printed; the table has all."""


def run_folder(name: str) -> Path:
    """The folder of a run, by its name or its path.

    Raises:
        AtlasError: it has no scoreboard.
    """
    places = [ROOT / "results" / name, Path(name)]
    for folder in places:
        if (folder / "comparison.tsv").is_file():
            return folder
    raise AtlasError(
        f"{name}: no built run has this name (there is no comparison.tsv in {' or '.join(map(str, places))}): build it first, "
        f"with `make` or `snakemake --config 'targets=[{name}]'`."
    )


def report(differences: pd.DataFrame) -> str:
    """The counts, and rows whose verdict or number changed; numbers with the largest relative difference first."""
    counted = counts(differences)
    shown = counted[["kind", "study", *(change for change in CHANGES if counted[change].any())]]
    parts = [shown.to_string(index=False)]
    for change in (VERDICT, ONLY_FIRST, ONLY_SECOND):
        parts += _listed(change, differences[differences["change"] == change])
    changed = differences[differences["change"] == NUMBER]
    by_size = changed["relative"].astype(float).abs().sort_values(ascending=False, kind="stable", na_position="last")
    parts += _listed(NUMBER, changed.loc[by_size.index])
    return "\n\n".join(parts)


def _listed(change: str, rows: pd.DataFrame) -> list[str]:
    if rows.empty:
        return []
    lines = [
        f"{change} ({len(rows)}): {CHANGES[change]}",
        *(f"  {_line(row)}" for row in rows.head(LONGEST).to_dict("records")),
    ]
    more = len(rows) - LONGEST
    return ["\n".join([*lines, *([f"  ... and {more} more, in the table"] if more > 0 else [])])]


def _line(row: dict[Any, Any]) -> str:
    sides = " -> ".join(_side(row, side) for side in ("first", "second"))
    number = "" if pd.isna(row["difference"]) else f"; difference {row['difference']:+.4g}"
    share = "" if pd.isna(row["relative"]) else f" ({100 * row['relative']:+.1f} %)"
    intervals = "" if pd.isna(row["intervals"]) else f", intervals {row['intervals']}"
    return f"{row['study']} {row['name']}: {sides}{number}{share}{intervals}"


def _side(row: dict[Any, Any], side: str) -> str:
    value, verdict, low, high, n = (row[f"{name}_{side}"] for name in ("value", "verdict", "ci_low", "ci_high", "n"))
    if pd.isna(verdict):
        return "none"
    interval = "" if pd.isna(low) or pd.isna(high) else f" [{low:.4g}, {high:.4g}]"
    size = "" if pd.isna(n) else f" n {n}"
    number = "" if pd.isna(value) else f"{value:.4g}" if isinstance(value, float) else value
    return f"{number}{interval}{size} ({verdict})".strip()


def main() -> int:
    """Write the table and print what changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", metavar="A")
    parser.add_argument("second", metavar="B")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    try:
        first, second = run_folder(chosen.first), run_folder(chosen.second)
        differences = run_differences(first, second)
        names = [folder.resolve().name for folder in (first, second)]
        out = chosen.out or ROOT / "results" / f"diff-{names[0]}-{names[1]}.tsv"
        write_table(differences, out)
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"first: {first}\nsecond: {second}\n\n{report(differences)}\n\n{out}: all {len(differences)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
