"""The page "What we found" of a published run: `pages/findings.yaml` has its sentences, `pages/findings.jinja` its form."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table
from attention_atlas.published.fixed import GROUPS

PAGES = Path(__file__).parent / "pages"
_VARIANT = re.compile(
    r"(Translation|Classification|(Encoder|Encoder-decoder|Decoder) attention): |(as published|with ROOT aligned), |token F1|"
    r"phrase F1|; (maps|question|sentences) [^)]*|BLEU|percentage|, without [^)]*| also without the heads .*| \(Figure 2\)|"
    r"(Dense & vertical|Dense|Diagonal|Vertical)(?= heads costs more than)|\d+|(from|of) (subjects|verbs) to their \w+"
)
"""Words in which claims differ that are variants of one another: experiment, type of head, alignment, unit, tasks."""


def numbers(folder: Path, claims: pd.DataFrame) -> dict[str, Callable[..., Any]]:
    """What sentences can use: numbers of the tables of a run, verdicts, and `n` to print them. LookupError: it has none."""

    def values(table: str, column: str, **where: Any) -> pd.Series:
        if not (path := folder / f"{table}.tsv").is_file():
            raise LookupError
        frame = read_table(path, [column, *where])
        found = frame.loc[
            (frame[list(where)].astype(str) == {key: str(value) for key, value in where.items()}).all(axis=1), column
        ]
        if found.dropna().empty:
            raise LookupError
        return found.dropna()

    def cell(*place: str, **where: Any) -> Any:
        if len(found := values(*place, **where)) > 1:
            raise AtlasError(f"{PAGES / 'findings.yaml'}: {place[0]}.tsv has {len(found)} rows with {where}; name one.")
        return found.iloc[0]

    return {
        "cell": cell,
        "first": lambda *place, **where: values(*place, **where).iloc[0],
        **{name: lambda *place, _of=name, **where: values(*place, **where).agg(_of) for name in ("mean", "max", "min")},
        "verdict": lambda start: claims.loc[claims["claim"].str.startswith(start), "verdict"].iloc[0],
        "n": lambda number, digits=0, sign="-": f"{number:{sign}.{digits}f}",
    }


def sentences(templates: Sequence[str], known: Mapping[str, Any]) -> list[str]:
    """The sentences whose numbers the run has."""
    written = []
    for template in templates:
        with contextlib.suppress(LookupError):
            written.append(jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(template).render(known))
    return written


def claim_rows(claims: pd.DataFrame) -> pd.DataFrame:
    """Claims, variants of one another side by side, with `variant` (0: the first of them), `group` of `GROUPS`, and places of
    the interval (`low`, `high`) and the value (`at`) on a bar, in %: the threshold is at 50, the claim's side to the right.
    """
    group = {mark: title for title, marks in GROUPS.items() for mark in marks}
    key = pd.factorize(claims["study"] + claims["claim"].str.replace(_VARIANT, "", regex=True))[0]
    rows = claims.assign(group=claims["fixed"].map(group), key=key).sort_values("key", kind="stable")
    signs = rows["side"].map({"above": 1, "below": -1})
    ends = rows[["ci_low", "value", "ci_high"]].sub(rows["threshold"], axis=0).mul(signs, axis=0)
    places = 50 + 45 * ends.div(ends.abs().max(axis=1).replace(0, 1), axis=0)
    low, high = places[["ci_low", "ci_high"]].min(axis=1), places[["ci_low", "ci_high"]].max(axis=1)
    variants = rows.groupby("key")["key"].transform("size") - 1
    return rows.assign(low=low, high=high, at=places["value"], variant=rows.groupby("key").cumcount(), variants=variants)


def findings_page(folder: Path, out: Path, claims: pd.DataFrame, **known: Any) -> str:
    """The page as Markdown, beside the published files in `out`; known: further names of the template."""
    cards, rows = yaml.safe_load((PAGES / "findings.yaml").read_text(encoding="utf-8")), claim_rows(claims)
    for study, card in cards.items():
        card["sentences"] = sentences(card["sentences"], numbers(folder, claims[claims["study"] == study]))
        card["picture"] = next((path.name for path in sorted(out.glob(f"{study}/{card['picture']}.[ps][nv]g"))), "")
        card["claims"] = rows[rows["study"] == study].to_dict("records")
    counts = rows.groupby(["study", "group", "verdict"]).size().to_dict()
    heads, relations = [], folder / "clark2019/table1.tsv"
    if (out / "atlas/atlas.html").is_file() and relations.is_file():
        heads = read_table(relations).query("relation != 'all'").nlargest(6, "heldout_accuracy").to_dict("records")
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(PAGES), trim_blocks=True, lstrip_blocks=True)
    page = environment.get_template("findings.jinja")
    return (
        page.render(known, cards=cards, counts=counts, groups=list(GROUPS), heads=heads, distinct=rows["key"].nunique()) + "\n"
    )
