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
Select = Callable[["pd.DataFrame"], "pd.DataFrame"]
"""From a study's table to rows of heads: `measure`, `PLACE` (from 1), `value`, and those of `PARTS` that the table has."""
PLACE = ["layer", "head"]
PARTS = ["low", "high", "n", "null_low", "null_high", "q"]
"""The 95 % interval of a value, its number of examples, the central 95 % of its null distribution, and p over all heads."""
INTERVAL = ("ci_low", "ci_high")


@dataclass(frozen=True)
class Measure:
    """A column of the atlas.

    item: table, figure or section of the paper; unit: empty for names; higher_means, lower_means: what the head does then, and
    with higher_means alone the test is one-sided; chance: value of a head without the effect, if known in advance; null: source
    of its null distribution; about: measure of the same head that names the object of the value, such as a relation; shares:
    measures that count the same weights or answers; adjusted: whether its q is a p adjusted for all heads; interval: if not the
    95 % interval of one head.
    """

    name: str
    title: str
    item: str
    unit: str
    higher_means: str = ""
    lower_means: str = ""
    chance: float | None = None
    null: str = ""
    about: str = ""
    shares: tuple[str, ...] = ()
    adjusted: bool = False
    interval: str = ""

    @property
    def one_sided(self) -> bool:
        """Whether only high values mean anything."""
        return bool(self.higher_means) and not self.lower_means


@dataclass(frozen=True)
class Caution:
    """A condition under which measures say nothing about single heads: from a table (`study/name`) to a sentence, or empty."""

    table: str
    columns: tuple[str, ...]
    reason: Callable[[pd.DataFrame], str]


@dataclass(frozen=True)
class Source:
    """Measures that come from one table (`study/name`) of a study, which must have `columns`.

    n_unit: what n counts: sentences, words, ...; group: heading on the page of the atlas; model: key of the study's settings
    that names the model whose heads they are, if it is not that of the study; family: whether they are means over models
    fine-tuned from it; attention_alone: whether the atlas can compute them on its sentences; chances, reasons: from the table,
    measure -> its value for a head without the effect, and why it has no value; no_null: why measures have none.
    """

    table: str
    select: Select
    measures: tuple[Measure, ...]
    columns: tuple[str, ...]
    n_unit: str = ""
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
        tables = {self.table: self.columns}
        if self.caution:
            tables[self.caution.table] = (*tables.get(self.caution.table, ()), *self.caution.columns)
        return tables


def where(
    measure: str, value: str = "value", interval: tuple[str, ...] = INTERVAL, n: str = "n", q: str = "", /, **equal: str
) -> Select:
    """Rows with these values as rows of one measure: names of the columns of its value, interval, n and q."""
    names = {value: "value", **dict(zip(interval, ("low", "high"), strict=False)), n: "n", **({q: "q"} if q else {})}

    def select(table: pd.DataFrame) -> pd.DataFrame:
        for column, wanted in equal.items():
            table = table[table[column].astype(str) == wanted]
        return table[[*PLACE, *names]].rename(columns=names).assign(measure=measure)

    return select


def each(names: Mapping[str, str], parts: tuple[str, ...] = ()) -> Select:
    """A measure for each of several values of the column `measure`, and columns that are called as in `PARTS`."""

    def select(table: pd.DataFrame) -> pd.DataFrame:
        rows = table[table["measure"].isin(names)]
        columns = dict(zip(INTERVAL, ("low", "high"), strict=True))
        return rows[["measure", *PLACE, "value", *INTERVAL, "n", *parts]].replace({"measure": names}).rename(columns=columns)

    return select
