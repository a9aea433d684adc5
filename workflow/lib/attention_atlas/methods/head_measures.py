"""Measures of single heads, each selected from a table of a study, the columns of the atlas; names in tables of heads.

Imports nothing heavy, since the workflow reads it at every start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

WHERE = "Where it attends"
PATTERN = "Pattern of its maps"
LINGUISTIC = "What it links in language"
EFFECT = "Effect on the model"
TRAINING = "Change in training"
REPEATED = "On repeated random tokens"
NORM = "Weighted by value norms"
WEIGHTS = "Weights alone"
"""Groups of measures."""
TRANSLATION, CLASSIFICATION = "translation", "classification"
ALL = "all"
"""Heads of all kinds of attention together."""
NONE, ONE, OTHERS = "none", "one", "others"
"""Nothing is masked; one head; all heads of a layer but one."""
PAPER, CODE, PER_BATCH, SCRIPT = "paper", "michel_code", "per_batch", "run_bertology"
DEFINITIONS = (PAPER, CODE, PER_BATCH, SCRIPT)
"""Definitions of a head's importance, see `importance.unnormalised`."""
HEAD = ["kind", "layer", "head"]
"""Columns that name a head; layer and head from 1."""
KEYS = ["masked", *HEAD]
"""Columns that name a mask: layer and head 0 if nothing is masked; head is the masked one, or the one kept."""
STEP = ["order", "scope", "draw", "percent", "count"]
"""Columns that name a step of pruning: the order, the kind of attention that is pruned (or `ALL`), the number of a random
order, and how many heads are gone."""
ANSWERS = ["record", "answer", "expected"]
"""Columns of every table of answers, after those that name what was masked."""
Select = Callable[..., "pd.DataFrame"]
"""From a study's table (and a second one) to layer, head (from 1) and one column per measure."""
PLACE = ["layer", "head"]


@dataclass(frozen=True)
class Measure:
    """A column of the atlas.

    item: table, figure or section of the paper; unit: empty for names; chance: value of a head without the effect, if known in
    advance; null: source of its null distribution; about: measure of the same head that names the object of the value, such as
    a relation; shares: measures that count the same weights or answers; adjusted: whether its q is a p adjusted for all heads;
    interval: if not the 95 % interval of one head.
    """

    name: str
    title: str
    item: str
    unit: str
    higher_means: str = ""
    chance: float | None = None
    null: str = ""
    about: str = ""
    shares: tuple[str, ...] = ()
    adjusted: bool = False
    interval: str = ""


@dataclass(frozen=True)
class Examples:
    """Number of examples behind each value: sentences, words, ...; `select`: like `Source.select`, with the number as value."""

    unit: str
    select: Select
    columns: tuple[str, ...] = ("n",)


@dataclass(frozen=True)
class Caution:
    """A condition under which measures say nothing about single heads: from a table (`study/name`) to a sentence, or empty."""

    table: str
    columns: tuple[str, ...]
    reason: Callable[[pd.DataFrame], str]


@dataclass(frozen=True)
class Source:
    """Measures that come from one table (`study/name`) of a study, which must have `columns`.

    group: heading on the page of the atlas; model: key of the study's settings that names the model whose heads they are, if it
    is not that of the study; family: whether they are means over models fine-tuned from it; attention_alone: whether the atlas
    can compute them on its sentences; chances, reasons: from the table, measure -> its value for a head without the effect, and
    why it has no value; no_null: why measures have none.
    """

    table: str
    select: Select
    measures: tuple[Measure, ...]
    columns: tuple[str, ...]
    examples: Examples | None = None
    caution: Caution | None = None
    group: str = ""
    model: str = ""
    family: bool = False
    attention_alone: bool = False
    chances: Callable[[pd.DataFrame], Mapping[str, float]] | None = None
    reasons: Callable[[pd.DataFrame], Mapping[str, str]] | None = None
    no_null: str = ""

    @property
    def study(self) -> str:
        """The study that the table belongs to."""
        return self.table.partition("/")[0]

    @property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """Table -> the columns that it must have."""
        tables = {self.table: (*self.columns, *(self.examples.columns if self.examples else ()))}
        if self.caution:
            tables[self.caution.table] = (*tables.get(self.caution.table, ()), *self.caution.columns)
        return tables


def ends_of(name: str) -> tuple[str, str]:
    """Names of the two ends of a measure's interval."""
    return f"{name}_low", f"{name}_high"


def null_of(name: str) -> tuple[str, str, str]:
    """Names of the ends of the range of a measure's null distribution, and of its q."""
    return f"{name}_null_low", f"{name}_null_high", f"{name}_q"


def parts_of(name: str) -> tuple[str, ...]:
    """Names of the values shown with a measure: the ends of its interval, and its null distribution."""
    return (*ends_of(name), *null_of(name))


def where(value: str, name: str, interval: tuple[str, str] | None = None, p: str = "", /, **equal: str) -> Select:
    """Rows with these values; the column `value` becomes the measure `name`, those of `interval` the ends of its interval.

    The column `p`, adjusted for all heads, becomes its q.
    """
    names = {value: name} | (dict(zip(interval, ends_of(name), strict=True)) if interval else {})
    names |= {p: null_of(name)[-1]} if p else {}

    def select(table: pd.DataFrame) -> pd.DataFrame:
        for column, wanted in equal.items():
            table = table[table[column].astype(str) == wanted]
        return table[[*PLACE, *names]].rename(columns=names)

    return select


def one_per_value(value: str, by: str, names: Mapping[str, str], parts: tuple[str, ...] = ()) -> Select:
    """A measure for each of several values of the column `by`; the columns `parts` become its `parts_of`, in their order."""

    def select(table: pd.DataFrame) -> pd.DataFrame:
        wide = table[table[by].isin(names)].pivot(index=PLACE, columns=by, values=[value, *parts])
        columns = {name: dict(zip((value, *parts), (name, *parts_of(name)), strict=False)) for name in names.values()}
        wide.columns = [columns[names[row]][column] for column, row in wide.columns]
        return wide.reset_index()

    return select


def best_of_rows(value: str, name: str, interval: tuple[str, str] | None = None, **equal: str) -> Select:
    """The largest value of a head's rows with these values, such as its two directions, with the interval of that row."""
    rows = where(value, name, interval, **equal)

    def select(table: pd.DataFrame) -> pd.DataFrame:
        best_first = rows(table).sort_values(name, ascending=False, kind="stable")
        return best_first.drop_duplicates(PLACE).sort_values(PLACE, ignore_index=True)

    return select
