"""Tables of a small atlas, and its page."""

from io import StringIO

import numpy as np
import pandas as pd

from attention_atlas.atlas.correlations import MATCHES
from attention_atlas.atlas.measures import MEASURES
from attention_atlas.atlas.page import atlas
from attention_atlas.attention.cache import StoredAttention
from attention_atlas.corpora.examples import all_examples
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_relations import HEAD_RELATIONS

MOST_BYTES = 8_000_000
SERIOUS = ("serious", "critical")
GROUPS = {"masked": "Effect on the model"}
NULLS = {"masked": ("", 0.0, 3), "induction": ("heads with random weights", None, 1)}
ABOUT = {"masked": "distance_type"}
CALIBRATIONS = {"entropy": "No null: random models do not read these texts."}
"""Measure -> null, chance and inside_null of its row."""


def as_read(frame):
    """A frame as a job reads it from its file."""
    text = frame.to_csv(sep="\t", index=False, float_format="%.6g")
    return pd.read_csv(StringIO(text), sep="\t", keep_default_na=False, na_values=[""])


def small_atlas(layers, heads):
    """Heads and measures of a model with three measures by number, one by name, one left out."""
    chance = np.random.default_rng(0)
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    count = layers * heads
    table = pd.DataFrame({"model": "tiny", "layer": layer, "head": head})
    table["entropy"] = 4 * chance.random(count)
    table["to_sep"] = np.where(chance.random(count) < 0.1, np.nan, chance.random(count))
    table["masked"] = chance.normal(size=count)
    table["masked_low"], table["masked_high"] = table["masked"] - 1, table["masked"] + 2
    # Of the first head the induction is like that of random weights.
    table["induction"] = 0.5 + table.index / count
    table["induction_low"], table["induction_high"] = table["induction"] - 0.1, table["induction"] + 0.1
    table["induction_null_low"], table["induction_null_high"] = 0.01, 0.55
    table["induction_q"] = np.where(table.index == 0, 0.7, 0.001)
    table["distance_type"] = chance.choice(["dense", "vertical"], count)
    table = as_read(table)
    facts = {
        "entropy": ("Entropy </script><b>", "nats", "number", ""),
        "to_sep": ("Attention to [SEP]", "share", "number", ""),
        "masked": ("Accuracy when masked", "percentage points", "number", ""),
        "induction": ("Induction", "share", "number", ""),
        "distance_type": ("Type by distances", "", "name", ""),
        "importance": ("Importance", "", "", "this run does not build michel2019"),
    }
    rows = [
        [
            *(name, title, GROUPS.get(name, "Others"), "a2020", "Table 1", unit, "", "tiny", kind, count),
            *(
                24 if name == "masked" else None,
                "examples",
                *NULLS.get(name, ("", None, None)),
                ABOUT.get(name, ""),
                note,
                "",
                CALIBRATIONS.get(name, ""),
            ),
        ]
        for name, (title, unit, kind, note) in facts.items()
    ]
    measures = as_read(pd.DataFrame(rows, columns=MEASURES))
    return {"heads": table, "measures": measures, "matches": pd.DataFrame(columns=MATCHES)}


LIMITS = {"count": 2, "max_tokens": 24, "shortest": 6}
_GATHERED = ("attention", "examples", "dropped", "pairs", "kinds", "relations", "page_tables")


def sentences_of(folder, model="tiny", dropped=True):
    """The sentences of the small treebank in a folder, as the page reads them; with one that was dropped."""
    rows = [(12, "s12", "too long", "900 pieces, 512 allowed")] if dropped else []
    return {
        "attention": {model: StoredAttention([folder / "0.safetensors"])},
        "examples": {model: all_examples([folder / "0.parquet"])},
        "dropped": {model: [pd.DataFrame(rows, columns=["record", "id", "reason", "detail"])]},
    }


def build(tables, path=None, **arguments):
    """The page of tables; also written to a path."""
    facts = {"shown_sentences": LIMITS, "shapes": {}}
    facts |= {"run_title": "Test run"}
    facts |= {"labels": {"sentences": RunLabel("Test run", "tiny", "text")}}
    text = atlas(**{**{key: {} for key in _GATHERED}, **facts, **tables, **arguments})
    if path:
        path.write_text(text, encoding="utf-8")
    return text


def in_full(rows):
    """A table of relations from rows up to q."""
    table = pd.DataFrame(rows, columns=HEAD_RELATIONS[: HEAD_RELATIONS.index("q") + 1])
    return table.assign(choice_low=0.1, unit="sentences", units=20, accuracy_low=0.1, accuracy_high=0.9)
