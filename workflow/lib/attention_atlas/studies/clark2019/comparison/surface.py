"""Figures 2 and 4 and the claims of section 3 beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from attention_atlas.io.setting import Setting
from attention_atlas.published.compare import CLOSE, QUALITATIVE, Measured
from attention_atlas.studies.clark2019.comparison.sameness import SEGMENTS, absent, same

_BROAD_ENTROPY = 3.8
_BY_LAYER = {
    "dig_fig2_cls": "cls",
    "dig_fig2_sep": "sep",
    "dig_fig2_punct": "punct",
    "dig_rest_sep": "rest_sep",
    "dig_sep_sep": "sep_sep",
    "dig_ent": "entropy",
    "dig_ent_cls": "entropy_cls",
}
_NO_TOKEN = "the model has no such special token"
_OF_SPECIAL = ("txt_cls_entropy_l12", "rep_ja_sep_share", "txt_sep_6_10", "txt_sep_sep")
_POSITIONS = {"prev": "previous", "next": "next", "self": "current"}


class _Surface:
    """The measures of a run by name."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._by_measure = dict(iter(frame.groupby("measure")))
        self._none = frame.iloc[:0]
        self.layers = int(frame["layer"].max())

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self._by_measure.get(name, self._none)

    def layer_means(self, name: str) -> list[float]:
        return self[name].groupby("layer")["value"].mean().tolist()


def surface_rows(
    surface: pd.DataFrame, summary: pd.Series, published: Mapping[str, Any], setting: Setting
) -> dict[str, Measured]:
    """Rows of the values read off the figures, of the set-up, and of the claims.

    Args:
        surface: surface.tsv.
        summary: segments.tsv, indexed by quantity.
        published: id -> published value.
        setting: model and segments of the run.
    """
    tables = _Surface(surface)
    found = _figures(tables, summary, published, setting) | _set_up(summary, setting) | _claims(tables, summary, setting)
    return {identifier: absent(_NO_TOKEN) for identifier in _OF_SPECIAL} | found


def _figures(tables: _Surface, summary: pd.Series, published: Mapping[str, Any], setting: Setting) -> dict[str, Measured]:
    comparable, why = same(setting, SEGMENTS, best=CLOSE)
    n = int(summary["segments"])
    rows = {
        identifier: absent(_NO_TOKEN) if tables[name].empty else Measured(tables.layer_means(name), comparable, why, n=n)
        for identifier, name in _BY_LAYER.items()
    }
    for identifier in published:
        word, _, layer = identifier.removeprefix("dig_").partition("_L")
        if not identifier.startswith("dig_") or word not in _POSITIONS:
            continue
        if int(layer) > tables.layers:
            rows[identifier] = absent(f"the model ({setting.model}) has {tables.layers} layers")
            continue
        heads = tables[_POSITIONS[word]]
        best = heads[heads["layer"] == int(layer)].nlargest(1, "value").iloc[0]
        ends = (float(best["ci_low"]), float(best["ci_high"]))
        rows[identifier] = Measured(float(best["value"]), comparable, why, *ends, n)
    if not tables["entropy_cls"].empty:
        rows["txt_cls_entropy_l12"] = Measured(tables.layer_means("entropy_cls")[-1], comparable, why, n=n)
    if not tables["sep"].empty:
        first, last = _middle(tables.layers)
        share = [100 * value for value in tables.layer_means("sep")[first - 1 : last]]
        target = "the replication's are the lowest and the highest layer"
        rows["rep_ja_sep_share"] = Measured([min(share), max(share)], comparable, f"{why}; {target}", n=n)
    return rows


def _set_up(summary: pd.Series, setting: Setting) -> dict[str, Measured]:
    comparable, why = same(setting, SEGMENTS, needs_model=False, best=CLOSE)
    n = int(summary["segments"])
    return {
        "dig_uniform_entropy": Measured(float(summary["uniform_entropy"]), comparable, why, n=n),
        "nb_n_segments": Measured(n, comparable, why),
        "txt_n_segments": Measured(n, comparable, why),
        "txt_max_len": Measured(int(summary["longest"]), comparable, why),
        "txt_sep_expected": Measured(2 / float(summary["mean_tokens"]), comparable, why, n=n),
    }


def _claims(tables: _Surface, summary: pd.Series, setting: Setting) -> dict[str, Measured]:
    """Claims of the text, put to whatever model this run looks at."""
    rows: dict[str, Measured] = {}
    n = int(summary["segments"])

    def claim(identifier: str, value: Any, holds: bool, what: str) -> None:
        rows[identifier] = Measured(value, QUALITATIVE, f"claim, put to {setting.model}: {what}", n=n, holds=holds)

    for identifier, name, what in (
        ("txt_prev_heads", "previous", "some heads put over half of their attention on the previous token"),
        ("txt_next_heads", "next", "some heads put over half of their attention on the next token"),
    ):
        over = tables[name][tables[name]["value"] > 0.5]
        claim(identifier, over["layer"].astype(int).tolist() or "none", not over.empty, what)
    if not tables["sep"].empty:
        first, last = _middle(tables.layers)
        means = tables.layer_means("sep")[first - 1 : last]
        share = sum(means) / len(means)
        claim("txt_sep_6_10", share, share > 0.5, f"over half of the attention in layers {first} to {last} goes to [SEP]")
        highest = max(tables.layer_means("sep_sep"))
        claim("txt_sep_sep", highest, highest > 0.9, "[SEP] puts over 90 % of its attention on [SEP] in some layer")
    merged = tables["entropy"].merge(tables["row_maximum"], on=["layer", "head"], suffixes=("", "_maximum"))
    broad = merged[merged["value"] > _BROAD_ENTROPY]
    if broad.empty:
        rows["txt_high_entropy_max"] = absent(f"no head of {setting.model} has an entropy over {_BROAD_ENTROPY} nats here")
    else:
        largest = float(broad["value_maximum"].max())
        what = f"heads of entropy over {_BROAD_ENTROPY} put on average at most 10 % on any one token"
        claim("txt_high_entropy_max", largest, largest <= 0.1, what)
    return rows


def _middle(layers: int) -> tuple[int, int]:
    """Layers 6 to 10 of 12, in proportion for a model of another depth."""
    return round(6 / 12 * layers), round(10 / 12 * layers)
