"""The page "What we found" of a published run: `pages/findings.yaml` has its sentences, `pages/findings.jinja` its form."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table
from attention_atlas.published.compare import GROUPS

PAGES = Path(__file__).parent / "pages"


def numbers(folder: Path, claims: pd.DataFrame) -> dict[str, Callable[..., Any]]:
    """What sentences can use: numbers of the tables of a run, verdicts, and `n` to print them. LookupError: it has none."""

    def values(table: str, column: str, **where: Any) -> pd.Series:
        if not (path := folder / f"{table}.tsv").is_file():
            raise LookupError
        frame = read_table(path, [column, *where])
        rows = (frame[list(where)].astype(str) == pd.Series(where).astype(str)).all(axis=1)
        selected = frame.loc[rows, column].dropna()
        if selected.empty:
            raise LookupError
        return selected

    def cell(*place: str, **where: Any) -> Any:
        if len(selected := values(*place, **where)) > 1:
            raise AtlasError(f"{PAGES / 'findings.yaml'}: {place[0]}.tsv has {len(selected)} rows with {where}; name one.")
        return selected.iloc[0]

    return {
        "cell": cell,
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


def claim_rows(claims: pd.DataFrame, variants: str) -> pd.DataFrame:
    """Claims, those that differ only in words of `variants` side by side, with `variant` (0: the first), `group` of `GROUPS`,
    and places of interval and value on a bar, in %: the threshold is at 50, the claim's side to the right.
    """
    group = {mark: title for title, marks in GROUPS.items() for mark in marks}
    key = pd.factorize(claims["study"] + claims["claim"].str.replace(variants, "", regex=True))[0]
    rows = claims.assign(group=claims["fixed"].map(group), key=key).sort_values("key", kind="stable")
    signs = rows["side"].map({"above": 1, "below": -1})
    ends = rows[["ci_low", "value", "ci_high"]].sub(rows["threshold"], axis=0).mul(signs, axis=0)
    places = 50 + 45 * ends.div(ends.abs().max(axis=1).replace(0, 1), axis=0)
    low, high = places[["ci_low", "ci_high"]].min(axis=1), places[["ci_low", "ci_high"]].max(axis=1)
    of_claim = rows.groupby("key")["key"]
    places = {"low": low, "high": high, "at": places["value"]}
    return rows.assign(**places, variant=of_claim.cumcount(), variants=of_claim.transform("size") - 1)


def findings_page(folder: Path, out: Path, claims: pd.DataFrame, **known: Any) -> str:
    """The page as Markdown, beside the published files in `out`; known: further names of the template."""
    cards = yaml.safe_load((PAGES / "findings.yaml").read_text(encoding="utf-8"))
    rows = claim_rows(claims, cards.pop("variants"))
    for study, card in cards.items():
        card["sentences"] = sentences(card["sentences"], numbers(folder, claims[claims["study"] == study]))
        card["picture"] = next((path.name for path in sorted(out.glob(f"{study}/{card['picture']}.[ps][nv]g"))), "")
        card["claims"] = rows[rows["study"] == study].to_dict("records")
    counts = rows.groupby(["study", "group", "verdict"]).size().to_dict()
    heads, relations = [], folder / "clark2019/table1.tsv"
    if (out / "atlas/atlas.html").is_file() and relations.is_file():
        heads = read_table(relations).query("relation != 'all'").nlargest(6, "heldout_accuracy").to_dict("records")
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(PAGES), trim_blocks=True, lstrip_blocks=True)
    known |= {"cards": cards, "counts": counts, "groups": list(GROUPS), "heads": heads, "distinct": rows["key"].nunique()}
    return environment.get_template("findings.jinja").render(known) + "\n"
