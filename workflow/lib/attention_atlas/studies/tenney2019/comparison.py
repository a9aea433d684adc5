"""Published numbers of Tenney et al. (2019) and the run's, and the paper's claims, tested on the run's model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.published.claims import claim_verdict
from attention_atlas.published.compare import compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.tenney2019.names import AMBIGUOUS, EQUAL

_SURE = 0.95
_SELECTIVE = 0.0
"""Selectivity above which the claim holds that probes find more than they memorise."""


def comparison(
    tables: Mapping[str, Any],
    labels: Mapping[str, RunLabel],
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: name -> file, those of `summary`.
        labels: task -> run, model and corpus.
        out, html_out: every published value and this run's.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    published = load_published("tenney2019")
    targets = frames["figure1"][["task", "targets"]]
    by_task = {name: frames[name].merge(targets, on="task") for name in ("figure2", "options", "mixing_weights")}
    derived = {**frames, **by_task, "quantities": quantities([Quantity("ambiguous", AMBIGUOUS)])}
    frame = compare(published, measure(published, derived, labels))
    lines = joint_lines(labels.values())
    note = (
        "A number is compared only with the same model on the same data. The paper's 9.47 for coreference is that of "
        "BERT-large with 24 layers; BERT-base gives 3.62. Ids with rerun are the authors' own later logs, on the test "
        "set; those with f1_lex are probes on words alone."
    )
    write_comparison(frame, out, html_out, "Tenney et al. 2019: published values and this run", lines, note)
    notes = [*lines, "Claims of the paper, and doubts about them, tested on this run's model."]
    write_claims(_claims(frames), claims_out, claims_html, "Tenney et al. 2019: claims and this run", notes)


def _claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    figure1, order = frames["figure1"].set_index("task"), frames["order"].dropna(subset=["probability"])
    known = figure1[figure1["within_noise"] == 0].sort_values("expected_layer")
    paper = [task for task in EDGE_TASKS if task in known.index and task not in ("protoroles", "relations", "dependencies")]
    names = ", ".join(f"{EDGE_TASKS[str(task)]} {row['expected_layer']:.2f}" for task, row in known.iterrows())
    if len(paper) > 1:
        layers = [float(known.loc[task, "expected_layer"]) for task in paper]
        claim = "Tasks come in the order of the pipeline: " + ", ".join(EDGE_TASKS[task] for task in paper) + " (section 4.1)"
        yield claim, f"expected layers: {names}", claim_verdict(layers == sorted(layers))
    if len(order):
        unsure = order[order["probability"] < _SURE]
        words = ", ".join(
            f"{EDGE_TASKS[row.task]} before {EDGE_TASKS[row.next_task]} {row.probability:.2f}" for row in order.itertuples()
        )
        yield f"The order of neighbours is sure (probability {_SURE} or more each)", words, claim_verdict(not len(unsure))
    refused = ", ".join(EDGE_TASKS[str(task)] for task in figure1.index[figure1["within_noise"] == 1]) or "none"
    claim = "Every task gains from layers above 0 (more than two standard errors)"
    yield claim, f"within noise: {refused}", claim_verdict(refused == "none")
    first = known["expected_layer"] < known["layers"] / 2
    if len(known):
        claim = "Most tasks are solved in the lower half of the layers"
        yield claim, f"{int(first.sum())} of {len(known)} expected layers below the middle", claim_verdict(first.mean() > 0.5)
    rank = known["expected_layer"].corr(known["centre"], method="spearman")
    if len(known) > 2:
        claim = "Centres of gravity order tasks as expected layers do (Spearman above 0.5)"
        yield claim, f"Spearman {rank:.2f} over {len(known)} tasks", claim_verdict(rank > 0.5)
    flat = figure1["k_s"]
    semantic = [task for task in ("protoroles", "relations") if task in flat.index]
    other_tasks = [task for task in flat.index if task not in semantic]
    if semantic and other_tasks:
        claim = "Weights of proto-roles and relations are spread most evenly (K(s), section 4.1)"
        words = ", ".join(f"{EDGE_TASKS[str(task)]} {value:.2f}" for task, value in flat.sort_values().items())
        yield claim, f"bits: {words}", claim_verdict(flat[semantic].max() < flat[other_tasks].min())
        equal = frames["options"]
        equal = equal[equal["condition"] == EQUAL].set_index("task")["k_s"]
        if len(equal):
            claim = "The same with as many steps for every task"
            words = ", ".join(f"{EDGE_TASKS[str(task)]} {value:.2f}" for task, value in equal.sort_values().items())
            yield claim, f"bits: {words}", claim_verdict(equal[semantic].max() < equal[other_tasks].min())
    last = frames["controls"].sort_values("layer").groupby("task", sort=False).tail(1).set_index("task")
    words = ", ".join(f"{EDGE_TASKS[str(task)]} {value:+.1f}" for task, value in last["selectivity"].items())
    claim = "Probes find more than they memorise: F1 above that of the control task (Hewitt & Liang 2019)"
    yield claim, words, claim_verdict(bool((last["selectivity"] > _SELECTIVE).all()))
    random = last["f1_random_encoder"].dropna()
    if len(random):
        gaps = last.loc[random.index, "f1"] - random
        words = ", ".join(f"{EDGE_TASKS[str(task)]} {value:+.1f}" for task, value in gaps.items())
        claim = "What probes find is learnt: F1 above that on a model with random layers"
        yield claim, words, claim_verdict(bool((gaps > 0).all()))
