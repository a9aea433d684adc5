"""Tables of a small atlas, and its page."""

import numpy as np
import pandas as pd

from attention_atlas.atlas.correlations import Draws, write_correlations
from attention_atlas.atlas.measures import MEASURES
from attention_atlas.atlas.page import (
    Evidence,
    ShownSentences,
    write_page,
)
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_relations import HEAD_RELATIONS

MOST_BYTES = 8_000_000
SERIOUS = ("serious", "critical")
GROUPS = {"masked": "Effect on the model"}
NULLS = {"masked": ("", 0.0, 3), "induction": ("heads with random weights", None, 1)}
ABOUT = {"masked": "distance_type"}
CALIBRATIONS = {"entropy": "No null: random models do not read these texts."}
"""Measure -> null, chance and inside_null of its row."""


def write_tables(folder, layers, heads):
    """heads.tsv, measures.tsv and correlations.tsv of a model with three measures by number, one by name, one left out."""
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
    write_table(table, folder / "heads.tsv")
    facts = {
        "entropy": ("Entropy </script><b>", "nats", "number", ""),
        "to_sep": ("Attention to [SEP]", "share", "number", ""),
        "masked": ("Accuracy when masked", "percentage points", "number", ""),
        "masked_low": ("Accuracy when masked: lower end", "percentage points", "number", ""),
        "masked_high": ("Accuracy when masked: upper end", "percentage points", "number", ""),
        "induction": ("Induction", "share", "number", ""),
        **{f"induction_{part}": ("part", "share", "number", "") for part in ("low", "high", "null_low", "null_high", "q")},
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
    write_table(pd.DataFrame(rows, columns=MEASURES), folder / "measures.tsv")
    write_correlations(folder / "heads.tsv", folder / "measures.tsv", Draws(100, 100, 0), folder / "correlations.tsv")
    return table


NO_SENTENCES = ShownSentences(None, None, None, 2, 24, 6)


NO_EVIDENCE = Evidence(None, None)


def shown_sentences_of(folder, count=2, max_tokens=24, shortest=6):
    """Sentences of the small treebank."""
    dropped = folder / "0.dropped.tsv"
    write_table(
        pd.DataFrame([(12, "s12", "too long", "900 pieces, 512 allowed")], columns=["record", "id", "reason", "detail"]),
        dropped,
    )
    return ShownSentences(folder / "0.safetensors", folder / "0.parquet", dropped, count, max_tokens, shortest)


def build(folder, shown_sentences=NO_SENTENCES, relations=None, evidence=NO_EVIDENCE):
    paths = [folder / f"{name}.tsv" for name in ("heads", "measures", "correlations")]
    write_page(
        *paths, relations, evidence, shown_sentences, "Test run", RunLabel("Test run", "tiny", "text"), folder / "atlas.html"
    )
    return (folder / "atlas.html").read_text(encoding="utf-8")


def in_full(rows):
    """A table of relations from rows up to q."""
    table = pd.DataFrame(rows, columns=HEAD_RELATIONS[: HEAD_RELATIONS.index("q") + 1])
    return table.assign(choice_low=0.1, unit="sentences", units=20, accuracy_low=0.1, accuracy_high=0.9)
