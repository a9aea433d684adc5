"""Tables as files: tab-separated, byte-identical for the same numbers, and Parquet; and labels of runs in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import whole_file


@dataclass(frozen=True)
class RunLabel:
    run: str
    model: str
    corpus: str
    model_reference: str = ""  # the published model and data set, if these are used exactly
    corpus_reference: str = ""
    sample: bool = False
    converted: bool = False  # whether its relations were converted from Universal Dependencies
    released: bool = False  # whether the maps are those that the paper's authors released
    stand_in: bool = False  # whether model and corpus are generated stand-ins for the published ones with the same names

    @property
    def line(self) -> str:
        """One line below figures and above tables."""
        return " ".join((self.names, *self.caveats))

    @property
    def names(self) -> str:
        """Run, model and corpus in one sentence."""
        return f"{self.run}: {self.model} on {self.corpus}."

    @property
    def caveats(self) -> tuple[str, ...]:
        """Reasons why the numbers cannot be compared with the papers', one sentence each."""
        origin = ("Relations converted from Universal Dependencies, not annotated as such.",) if self.converted else ()
        if self.stand_in:
            return *origin, "Generated text and a small random model stand for those named: numbers are not comparable."
        return (*origin, "Generated text: not the papers' data, numbers are not comparable.") if self.sample else origin


def joint_lines(labels: Iterable[RunLabel]) -> list[str]:
    """The lines of several settings: those that differ only in the corpus share a line; then each caveat once."""
    groups: dict[RunLabel, list[str]] = {}
    for label in labels:
        corpora = groups.setdefault(replace(label, corpus="", corpus_reference=""), [])
        if label.corpus not in corpora:
            corpora.append(label.corpus)
    if len(groups) == 1:
        return [replace(label, corpus="; ".join(corpora)).line for label, corpora in groups.items()]
    names = [replace(label, corpus="; ".join(corpora)).names for label, corpora in groups.items()]
    caveats = dict.fromkeys(caveat for label in groups for caveat in label.caveats)
    return [*dict.fromkeys(names), *([" ".join(caveats)] if caveats else [])]


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame as TSV: header in snake_case, six significant digits, empty cell for a missing value."""
    with whole_file(path) as part:
        frame.to_csv(part, sep="\t", index=False, float_format="%.6g", lineterminator="\n")


def write_parquet(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame as Parquet, for tables with one row per example, atomically."""
    with whole_file(path) as part:
        frame.to_parquet(part, index=False, write_page_checksum=True)


def read_parquet(path: str | Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a Parquet table, or some of its columns."""
    try:
        wanted = None if columns is None else list(columns)
        return pd.read_parquet(path, columns=wanted, page_checksum_verification=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedFile(path, f"this table cannot be read ({error})") from error


def read_table(path: str | Path, columns: list[str] | None = None, separator: str = "\t") -> pd.DataFrame:
    """Read a TSV (or a table with other separators) that must have `columns`."""
    try:
        # "null" and "nan" can be names of relations; only an empty cell is a missing value.
        frame = pd.read_csv(path, sep=separator, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        raise DamagedFile(path, f"this table cannot be read ({error})") from error
    return with_columns(frame, columns or [], path)


def with_columns(frame: pd.DataFrame, columns: Sequence[str], name: str | Path) -> pd.DataFrame:
    """The frame; raises an AtlasError with the name of the table if it lacks a column."""
    if absent := [column for column in columns if column not in frame.columns]:
        raise AtlasError(f"{name}: the column '{absent[0]}' is missing. Found: {', '.join(frame.columns)}.")
    return frame
