"""The page "What we found" of a published run: `pages/findings.yaml` has its sentences, `pages/findings.jinja` its form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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


class NoNumber(LookupError):
    """The run has no such number: the sentence is left out."""


def numbers(folder: Path, claims: pd.DataFrame) -> dict[str, Callable[..., Any]]:
    """What the sentences can use: numbers of the tables of a run, verdicts, and `n` to print them."""

    def values(table: str, column: str, **where: Any) -> pd.Series:
        path = folder / f"{table}.tsv"
        frame = read_table(path) if path.is_file() else pd.DataFrame(columns=[column, *where])
        if absent := {column, *where} - set(frame):
            raise AtlasError(f"{PAGES / 'findings.yaml'}: {table}.tsv has no column {', '.join(sorted(absent))}.")
        kept = frame.loc[(frame[list(where)].astype(str) == pd.Series(where, dtype=object).astype(str)).all(axis=1), column]
        if kept.dropna().empty:
            raise NoNumber
        return kept.dropna()

    def verdict(start: str) -> str:
        found = claims.loc[claims["claim"].str.startswith(start), "verdict"]
        if found.empty:
            raise NoNumber
        return str(found.iloc[0])

    def cell(*place: str, **where: Any) -> Any:
        if len(found := values(*place, **where)) > 1:
            raise AtlasError(f"{PAGES / 'findings.yaml'}: {place[0]}.tsv has {len(found)} rows with {where}; name one.")
        return found.iloc[0]

    reduced = {
        name: lambda *place, name=name, **where: getattr(values(*place, **where), name)() for name in ("mean", "max", "min")
    }
    first = {"first": lambda *place, **where: values(*place, **where).iloc[0]}
    return {"cell": cell, "verdict": verdict, **reduced, **first, "n": lambda x, digits=0, sign="-": f"{x:{sign}.{digits}f}"}


def sentences(templates: list[str], known: Mapping[str, Any]) -> list[str]:
    """The sentences whose numbers the run has."""
    written = []
    for template in templates:
        try:
            written.append(jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(template).render(known))
        except NoNumber:
            continue
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
    rows = rows.assign(low=places.min(axis=1), high=places.max(axis=1), at=places["value"])
    return rows.assign(variant=rows.groupby("key").cumcount(), variants=rows.groupby("key")["key"].transform("size") - 1)


def findings_page(folder: Path, out: Path, claims: pd.DataFrame, **known: Any) -> str:
    """The page as Markdown, beside the published files in `out`; known: further names of the template."""
    cards = yaml.safe_load((PAGES / "findings.yaml").read_text(encoding="utf-8"))
    texts, pictures = {}, {}
    for study, card in cards.items():
        texts[study] = sentences(card["sentences"], numbers(folder, claims[claims["study"] == study]))
        places = (f"{study}/{card['picture']}.{kind}" for kind in ("svg", "png"))
        pictures[study] = next((place for place in places if (out / place).is_file()), "")
    rows = claim_rows(claims)
    known |= {"cards": cards, "texts": texts, "pictures": pictures, "claims": rows.to_dict("records"), "groups": list(GROUPS)}
    known["counts"] = rows.groupby(["study", "group", "verdict"]).size().to_dict()
    known["counts_of"] = rows["study"].value_counts().to_dict()
    if (out / "atlas/atlas.html").is_file() and (relations := folder / "clark2019/table1.tsv").is_file():
        known["heads"] = read_table(relations).query("relation != 'all'").nlargest(6, "heldout_accuracy").to_dict("records")
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(PAGES), trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("findings.jinja").render(known) + "\n"
