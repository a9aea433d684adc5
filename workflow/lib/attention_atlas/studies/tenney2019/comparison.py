"""Published numbers of Tenney et al. (2019) and the run's, and the paper's claims, tested on the run's model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_parquet
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.tenney2019.claims import Results, claims
from attention_atlas.studies.tenney2019.names import AMBIGUOUS
from attention_atlas.studies.tenney2019.recipe import with_same_procedure
from attention_atlas.studies.tenney2019.summary import RESAMPLES


def comparison(
    tables: Mapping[str, Any],
    resamples: str | Path,
    labels: Mapping[str, RunLabel],
    recipes: Mapping[str, Mapping[str, Any]],
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file, those of `summary`.
        resamples: `RESAMPLES` of `summary`.
        labels: task -> run, model and corpus.
        recipes: task -> how its probes are trained, see `recipe.recipe_differences`.
        out, html_out: every published value and this run's.
        claims_out, claims_html: claims of the paper with statistic, interval and verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    published = load_published("tenney2019")
    targets = frames["figure1"][["task", "targets"]]
    by_task = {name: frames[name].merge(targets, on="task") for name in ("figure2", "options", "mixing_weights")}
    derived = {**frames, **by_task, "quantities": quantities([Quantity("ambiguous", AMBIGUOUS)])}
    measured = measure(published, derived, labels)
    counted = {str(task): int(count) for task, count in zip(targets["task"], targets["targets"], strict=True)}
    frame = compare(published, with_same_procedure(measured, published, recipes, counted))
    lines = joint_lines(labels.values())
    note = (
        "A number is compared only with the same model on the same data, with as many targets as the authors report, and "
        "probes trained by the published recipe. The paper's 9.47 for coreference is that of "
        "BERT-large with 24 layers; BERT-base gives 3.62. Ids with rerun are the authors' own later logs, on the test "
        "set; those with f1_lex are probes on words alone."
    )
    write_comparison(frame, out, html_out, "Tenney et al. 2019: published values and this run", lines, note)
    notes = [*lines, "Claims of the paper, and doubts about them, tested on this run's model."]
    results = Results(frames["figure1"], frames["controls"], frames["mixing_weights"], read_parquet(resamples, RESAMPLES))
    write_claims(claims(results, published), claims_out, claims_html, "Tenney et al. 2019: claims and this run", notes)
