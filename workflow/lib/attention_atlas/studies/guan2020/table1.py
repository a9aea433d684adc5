"""Table 1: stability of the types of heads, for every compared model and every reading of the procedure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import write_table
from attention_atlas.methods.distance_features import options_of
from attention_atlas.methods.head_type_names import TYPES
from attention_atlas.methods.head_types import clusters
from attention_atlas.published.values import load_published, printed
from attention_atlas.studies.guan2020.head_features import read_features
from attention_atlas.studies.guan2020.names import model_title
from attention_atlas.studies.guan2020.stability import HALVES, consistent_in_all, halved_labels, pairwise_agreement

COLUMNS = (
    *("model", "halved", "fits", "pairwise", "pairwise_min", "pairwise_max", "consistent_in_all", "heads", "examples"),
    "paper_stability",
)


def table1(
    features: Mapping[str, str | Path],
    labels: Mapping[str, RunLabel],
    options: Mapping[str, Any],
    fits: int,
    seed: int,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write Table 1: `COLUMNS`, shares of heads. The published stability is that of the model, in whichever of the readings.

    Args:
        features: name of a compared model -> its features.
        labels: name of a compared model -> run, model and corpus.
        options: of the features.
        fits: number of halves.
        seed: of halves and clusters.
        out, html_out: table and page.
    """
    rows = []
    published = load_published("guan2020")
    for name, path in features.items():
        paper = printed(published, "Table 1", "pairwise", model=name)
        stability = paper.value / 100 if paper and isinstance(paper.value, int | float) else float("nan")
        values = read_features(path).by_example(options_of(options))
        reference, _ = clusters(values.mean(axis=0), len(TYPES), seed)
        for halve in HALVES:
            halved = halved_labels(values, halve, len(TYPES), fits, seed)
            pairs = pairwise_agreement(halved, len(TYPES))
            agreed = consistent_in_all(halved, reference, len(TYPES))
            pair_range = (float(np.min(pairs)), float(np.max(pairs)))
            shares = (float(pairs.mean()), *pair_range, agreed)
            rows.append((name, halve, fits, *shares, values.shape[1], len(values), stability))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    write_table(table, out)
    _page(table, labels, html_out)


def _page(table: pd.DataFrame, labels: Mapping[str, RunLabel], path: str | Path) -> None:
    shown = table.assign(model=[model_title(name) for name in table["model"]])
    notes = [
        *joint_lines(labels.values()),
        "Share of heads. Each fit clusters half of the heads (the rest go to the nearest centre) or all heads by half of the "
        "inputs. Pairwise: heads in the same cluster, over all pairs of fits, clusters matched by the Hungarian method. In "
        "all: heads that every fit assigns to their cluster on all data. Examples: questions, of each the first window, or "
        "pairs of sentences. The paper (BERT-large) does not say which of "
        "these it reports; none of its values is a whole number of its 384 heads, but a mean over pairs need not be one.",
    ]
    names = {"pairwise": "Pairwise", "consistent_in_all": "In all", "paper_stability": "Paper"}
    formats = dict.fromkeys(("pairwise", "pairwise_min", "pairwise_max", "consistent_in_all", "paper_stability"), ".2%")
    formats |= {"fits": "d", "heads": "d", "examples": "d"}
    write_html_table(shown, path, "Guan et al. 2020, Table 1: stability of the types of heads", notes, names, formats)
