"""Every published number of Guan et al. (2020) beside the measured one, and the paper's claims tested on the run's model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.run_label import RunLabel
from attention_atlas.methods.distance_features import FEATURES
from attention_atlas.methods.head_type_names import TYPES
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.guan2020.ablation_tables import unnamed_clusters
from attention_atlas.studies.guan2020.claims import claims, read_drops


def comparison(
    tables: Mapping[str, Any],
    answers_path: str | Path,
    label: RunLabel,
    fits: int,
    resamples: int,
    seed: int,
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file.
        answers_path: of `ablations.score_answers`.
        label: model and questions.
        fits: number of halves in Table 1.
        resamples, seed: of the bootstrap over passages.
        out, html_out: every published value beside ours.
        claims_out, claims_html: the claims, see `write_claims`.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    frames["quantities"] = quantities(_quantities(frames, fits))
    published = load_published("guan2020")
    frame = compare(published, measure(published, frames, {"questions": label}))
    note = (
        "A number is compared only with the same model on the same data; inconsistencies of the paper are named in the "
        "column why."
    )
    write_comparison(frame, out, html_out, "Guan et al. 2020: published values and this run", [label.line], note)
    notes = [
        label.line,
        "Claims of the paper on order, tested on this run's model; drops of F1 are in percentage points, and are compared on "
        "the same questions. Whether a type matters is tested by permuting the types of the heads within each layer.",
    ]
    tested = claims(read_drops(answers_path), frames["head_types"], resamples, seed)
    write_claims(tested, claims_out, claims_html, "Guan et al. 2020: claims and this run", notes)


def _quantities(frames: Mapping[str, pd.DataFrame], fits: int) -> Iterator[Quantity]:
    types = frames["head_types"]
    yield Quantity("features", len(set(FEATURES) & set(types.columns)))
    yield Quantity("types", len(TYPES))
    yield Quantity("fits", fits)
    yield Quantity("half", 50)
    unnamed = unnamed_clusters(types)
    for kind in TYPES:
        # A type that no cluster fits has no share.
        yield Quantity(f"share_{kind}", None if kind in unnamed else float((types["type"] == kind).mean()), len(types))
