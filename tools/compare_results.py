"""The guard of a refactoring: compare all tables, figures and pages of two results folders, cell by cell.

python tools/compare_results.py OLD NEW     exit status 0: no difference; 1: differences, one per line; 2: wrong input

--intended INTENDED.tsv    differences to accept: file (glob over paths in NEW), column (a name, or * for all but (file)),
                           reason. Three names stand for more than cells: (file) a missing or additional file, (rows)
                           the row count, (order) the order of the columns.

An intended difference that is not seen is a difference too. Items of a JSON list, elements of a tensor, lines of a text and
cells of a page (HTML) are rows. SVG files are compared whole, logs not.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from lxml import html
from safetensors import SafetensorError, deserialize, safe_open

# Folders that describe the execution of jobs: run times, memory and log lines change from run to run.
EXCLUDED_FOLDERS = {"benchmarks", "logs"}
# Measured times: glob over paths -> columns whose values are not compared. Table 4 of Michel et al. measures examples per
# second by the clock. No other table holds a time: no other rule reads timing.tsv, and training.tsv has steps and losses only.
_TIMES = {"examples_per_second", "sd", "speedup", "speedup_low", "speedup_high", "spread", "status"}
MEASURED = {
    "*michel2019/timing.tsv": _TIMES,
    "*michel2019/table4.tsv": _TIMES,
    # Pages that show this table.
    "*michel2019/table4.html": {"(cells)"},
    "*index.html": {"(cells)"},
}
FILE, ROWS, ORDER = "(file)", "(rows)", "(order)"
NO_ROWS = np.zeros(0, int)
NUMBERS = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4"}  # tensors of other types are compared byte by byte
PRINTED, SHOWN = 200, 60  # lines of differences; characters of a value
as_json = json.JSONEncoder(ensure_ascii=False).encode


class WrongInput(Exception):
    """An argument or a file that cannot be used, in one sentence for the user."""


class Column(NamedTuple):
    """A list, array or Arrow column; `kind` is its type, for a tensor with the shape."""

    kind: str
    values: Any


Table = dict[str, Column]


def read_delimited(path: Path) -> Table:
    """A TSV or CSV as text; a file that is not rectangular as lines."""
    try:
        separator = "," if path.suffix == ".csv" else "\t"
        frame = pd.read_csv(path, sep=separator, header=None, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except (pd.errors.EmptyDataError, pd.errors.ParserError):
        return read_lines(path)
    if frame.iloc[0].duplicated().any():
        raise ValueError("two columns have the same name")
    return {name: Column("text", frame[place].tolist()[1:]) for place, name in enumerate(frame.iloc[0])}


def read_lines(path: Path) -> Table:
    """A text as one column."""
    return {"(line)": Column("text", path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))}


def read_json(path: Path) -> Table:
    """Entries by their path of keys; values and items of lists as JSON text."""
    table: Table = {}

    def add(value: Any, name: str) -> None:
        if isinstance(value, dict) and value:
            for key, entry in value.items():
                add(entry, f"{name}.{key}" if name else key)
        else:
            items = value if isinstance(value, list) else [value]
            table[name or "(value)"] = Column("list" if items is value else "value", [as_json(item) for item in items])

    add(json.loads(path.read_text(encoding="utf-8")), "")
    return table


def read_parquet(path: Path) -> Table:
    """Columns with their Arrow types."""
    table = pq.ParquetFile(path).read()
    return {name: Column(str(table.schema.field(name).type), table[name]) for name in table.column_names}


def read_tensors(path: Path) -> Table:
    """Tensors, and entries of the metadata, as columns."""
    with safe_open(path, framework="numpy") as file:
        table = {f"(metadata) {key}": Column("text", [text]) for key, text in sorted((file.metadata() or {}).items())}
    for name, tensor in sorted(deserialize(path.read_bytes())):
        values = np.frombuffer(tensor["data"], NUMBERS.get(tensor["dtype"], "u1"))
        table[name] = Column(f"{tensor['dtype']} {tensor['shape']}", values)
    return table


def read_picture(path: Path) -> Table:
    """A text as one value."""
    return {"(picture)": Column("text", [path.read_text(encoding="utf-8")])}


def read_page(path: Path) -> Table:
    """The cells of all HTML tables, row by row; a page may have none."""
    page = html.fromstring(path.read_bytes())
    return {"(cells)": Column("text", [" ".join(cell.text_content().split()) for cell in page.iter("td", "th")])}


READERS: dict[str, Callable[[Path], Table]] = {
    **dict.fromkeys((".tsv", ".csv"), read_delimited),
    **dict.fromkeys((".txt", ".jsonl", ".conll", ".conllu"), read_lines),
    **{".json": read_json, ".parquet": read_parquet, ".safetensors": read_tensors, ".svg": read_picture, ".html": read_page},
}


def read(path: Path) -> Table:
    """Read any table."""
    try:
        return READERS[path.suffix](path)
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise WrongInput(f"{path}: this table cannot be read ({error}).") from error


def tables_in(folder: Path) -> list[str]:
    """Paths of the tables of a results folder, relative to it."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.suffix in READERS and path.is_file()]
    names = sorted(
        path.as_posix() for path in paths if not any(part in EXCLUDED_FOLDERS or part[0] == "." for part in path.parts)
    )
    if not names:
        raise WrongInput(f"{folder}: there is no {'table in this' if folder.is_dir() else 'such'} folder.")
    return names


def number(cell: Any) -> Any:
    """What a text says as a number, whole ones exactly; other values as they are."""
    if not isinstance(cell, str):
        return cell
    return int(cell) if cell.removeprefix("-").isdecimal() else float(cell.replace("_", "?"))  # Python reads 1_0 as 10


def same(old: Any, new: Any) -> bool:
    """Whether two cells are equal: as numbers where both are, else as they are."""
    if isinstance(old, (list, dict)):
        return as_json(old) == as_json(new)  # for NaN inside
    try:
        one, two = number(old), number(new)
        return one == two or (one != one and two != two)
    except (TypeError, ValueError):
        return old == new


def different_rows(old: Column, new: Column) -> np.ndarray:
    """Row numbers from 1 of the cells that differ, as far as both columns have rows."""
    one, two = old.values, new.values
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        if old.kind != new.kind or np.array_equal(one.view(np.uint8), two.view(np.uint8)):
            return NO_ROWS
        equal = (one == two) | ((one != one) & (two != two))
        return np.flatnonzero(~equal) + 1
    if one is two or (old.kind == new.kind and one == two):
        return NO_ROWS
    one, two = (values if isinstance(values, list) else values.to_pylist() for values in (one, two))
    pairs = enumerate(zip(one, two, strict=False), start=1)
    return np.array([row for row, (a, b) in pairs if a != b and not same(a, b)], int)


def shown(*cells: Any) -> str:
    """Two cells on a line; long ones from shortly before the place where they part."""
    texts = [repr(str(cell)) for cell in cells]
    parting = [place for place, pair in enumerate(zip(*texts, strict=False)) if len(set(pair)) > 1]
    start = max(0, min([*parting, *map(len, texts)]) - SHOWN // 2) if max(map(len, texts)) > SHOWN else 0
    return " -> ".join("…" * (start > 0) + text[start : start + SHOWN] + "…" * (len(text) > start + SHOWN) for text in texts)


def read_intended(path: Path) -> dict[tuple[str, str], str]:
    """(file, column) -> line, of the differences to accept."""
    table, intended = read_delimited(path) if path.is_file() else {}, {}
    if list(table) != ["file", "column", "reason"]:
        raise WrongInput(f"{path}: this must be a table with the columns file, column, reason.")
    for place, cells in enumerate(zip(*(column.values for column in table.values()), strict=True), start=2):
        file, column, reason = (cell.strip() if isinstance(cell, str) else "" for cell in cells)
        if not reason:
            raise WrongInput(f"{path}:{place}: this intended difference has no reason.")
        intended[file, column] = f"{path.name}:{place}"
    return intended


@dataclass
class Comparison:
    """Two results folders: what may differ, and the differences so far."""

    intended: dict[tuple[str, str], str]
    seen: set[tuple[str, str]] = field(default_factory=set)
    differences: list[str] = field(default_factory=list)
    tables: int = 0
    cells: int = 0

    def report(self, file: str, column: str, text: str) -> None:
        """Note a difference, unless it is intended."""
        accepted = {
            (glob, name)
            for glob, name in self.intended
            if fnmatchcase(file, glob) and (name == column or (name == "*" and column != FILE))
        }
        self.seen |= accepted
        if not accepted:
            self.differences.append(f"{file}: {column}: {text}")

    def folders(self, old: Path, new: Path) -> None:
        """Compare all tables."""
        before, after = set(tables_in(old)), set(tables_in(new))
        for name in sorted(before | after):
            if name not in before:
                self.report(name, FILE, "additional in NEW")
            elif name not in after:
                self.report(name, FILE, "missing in NEW")
            else:
                table = read(old / name)
                identical = filecmp.cmp(old / name, new / name, shallow=False)
                self.table(name, table, table if identical else read(new / name))
        self.differences += [
            f"{line}: {file}: {column}: this intended difference was not seen"
            for (file, column), line in self.intended.items()
            if (file, column) not in self.seen
        ]

    def table(self, file: str, before: Table, new: Table) -> None:
        """Compare two tables."""
        self.tables += 1
        for name in sorted(before.keys() ^ new.keys()):
            self.report(file, name, f"this column is {'missing' if name in before else 'additional'} in NEW")
        shared = [name for name in before if name in new]
        if shared != [name for name in new if name in before]:
            self.report(file, ORDER, "the columns are in a different order")
        lists = [name for name in shared if not isinstance(before[name].values, np.ndarray)]
        counts = {name: (len(before[name].values), len(new[name].values)) for name in lists}
        if len(set(counts.values())) == 1:  # else a JSON file
            counts = {ROWS: counts[lists[0]]}
        for name, (one, two) in counts.items():
            if one != two:
                self.report(file, name, f"{one} rows in OLD, {two} in NEW")
        measured = {column for glob, columns in MEASURED.items() if fnmatchcase(file, glob) for column in columns}
        for name in shared:
            if name not in measured:
                self.column(file, name, before[name], new[name])

    def column(self, file: str, name: str, old: Column, new: Column) -> None:
        """Compare the type and the cells of a column."""
        count = min(len(old.values), len(new.values))
        self.cells += count
        if old.kind != new.kind:
            self.report(file, name, f"different type: {shown(old.kind, new.kind)}")
        rows = different_rows(old, new)
        if len(rows):
            values = shown(*(values[int(rows[0]) - 1] for values in (old.values, new.values)))
            self.report(file, name, f"{len(rows)} of {count} rows differ, first row {rows[0]}: {values}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two folders; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD", type=Path)
    parser.add_argument("new", metavar="NEW", type=Path)
    parser.add_argument("--intended", type=Path)
    options = parser.parse_args(arguments)
    try:
        comparison = Comparison(read_intended(options.intended) if options.intended else {})
        comparison.folders(options.old, options.new)
    except WrongInput as error:
        print(error, file=sys.stderr)
        return 2
    differences = comparison.differences
    print("".join(f"{line}\n" for line in differences[:PRINTED]), end="")
    if len(differences) > PRINTED:
        print(f"and {len(differences) - PRINTED} more")
    outcome = f"differences: {len(differences)}" if differences else "no difference"
    used = f"intended differences used: {len(comparison.seen)}"
    print(f"{comparison.tables} files, {comparison.cells} cells compared: {outcome}; {used}")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
