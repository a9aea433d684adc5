"""Published numbers of Tenney et al. (2019) beside the run's, and the paper's claims, tested on the run's model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_parquet
from attention_atlas.published.compare import Measured, compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import Published, load_published
from attention_atlas.studies.tenney2019.claims import Results, claims
from attention_atlas.studies.tenney2019.names import AMBIGUOUS
from attention_atlas.studies.tenney2019.procedure import with_same_procedure
from attention_atlas.studies.tenney2019.summary import RESAMPLES


def comparison(
    tables: Mapping[str, Any],
    second: Mapping[str, Any],
    resamples: str | Path,
    labels: Mapping[str, RunLabel],
    second_labels: Mapping[str, RunLabel],
    recipes: Mapping[str, Mapping[str, Any]],
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file, those of `summary`.
        second: tables of the second model that published values name; lists without a file where the run has no such model.
        resamples: `RESAMPLES` of `summary`.
        labels, second_labels: task -> run, model and corpus, of both models; the latter is empty where there is no second
            model.
        recipes: task -> settings of its probes, see `recipe.recipe_differences`.
        out, html_out: every published value beside this run's.
        claims_out, claims_html: claims of the paper with statistic, interval and verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames, second_frames = read_tables(tables), read_tables(second)
    published = load_published("tenney2019")
    measured = _measured(published, frames, labels, recipes)
    if second_frames:
        of_second = _measured(published, second_frames, second_labels, recipes)
        measured |= {name: of_second[name] for name in _values_of_second(published, labels, second_labels)}
    frame = compare(published, measured)
    lines = joint_lines([*labels.values(), *second_labels.values()])
    note = (
        "A number is compared only with the same model on the same data, with as many training and development targets as the "
        "authors report, and probes trained by the published recipe. The paper's 9.47 for coreference is that of "
        "BERT-large with 24 layers; BERT-base gives 3.62. Values of the model that is the run's second model (Figure A.3) "
        "are compared with those of that model. Ids with rerun are from the authors' later logs, on the test "
        "set; those with f1_lex are probes on words alone."
    )
    write_comparison(frame, out, html_out, "Tenney et al. 2019: published values and this run", lines, note)
    seeds = int(frames["figure1"]["seeds"].iloc[0])
    notes = [
        *joint_lines(labels.values()),
        "Claims of the paper, and objections to them, tested on this run's model. Intervals of F1 and of expected layers "
        f"resample the documents or sentences that n counts, and with them the probes of {seeds} seeds.",
    ]
    results = Results(frames["figure1"], frames["controls"], frames["mixing_weights"], read_parquet(resamples, RESAMPLES))
    write_claims(claims(results, published), claims_out, claims_html, "Tenney et al. 2019: claims and this run", notes)


def _measured(
    published: Mapping[str, Published],
    frames: Mapping[str, pd.DataFrame],
    labels: Mapping[str, RunLabel],
    recipes: Mapping[str, Mapping[str, Any]],
) -> dict[str, Measured]:
    """Published values in the tables of one model."""
    targets = frames["figure1"][["task", "targets"]]
    weights = frames["mixing_weights"].merge(targets, on="task")
    derived = {**frames, "mixing_weights": weights, "quantities": quantities([Quantity("ambiguous", AMBIGUOUS)])}
    counts = frames["figure1"].set_index("task")
    evaluated, trained = counts["targets"].to_dict(), counts["training_targets"].to_dict()
    return with_same_procedure(measure(published, derived, labels), published, recipes, evaluated, trained)


def _values_of_second(
    published: Mapping[str, Published], labels: Mapping[str, RunLabel], second_labels: Mapping[str, RunLabel]
) -> list[str]:
    """Published values of the run's second model, where it differs from the first."""

    def is_of_second(value: Published) -> bool:
        model = value.same.get("model")
        return model is not None and model == second_labels[value.role].model_reference != labels[value.role].model_reference

    return [name for name, value in published.items() if value.role in second_labels and is_of_second(value)]
