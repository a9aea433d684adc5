"""Every published number of Tenney et al. (2019) beside what a run measured, and the paper's claims put to its model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.io.setting import Setting, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.published.compare import CLOSE, NO, Measured, compare
from attention_atlas.published.pages import claim_verdict, write_claims, write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.tenney2019.names import AMBIGUOUS, EARLY, EMBEDDINGS, EQUAL, LEXICAL, PUBLISHED_KEYS
from attention_atlas.studies.tenney2019.scores import WEIGHTS
from attention_atlas.studies.tenney2019.summary import FIGURE1, FIGURE2, OPTIONS, ORDER, TABLE1

_MODELS = {"bert-large-uncased": "large", "bert-base-uncased": "base"}
_SURE = 0.95
_SELECTIVE = 0.0
"""Least selectivity for which probes are said to find more than they memorise."""


@dataclass(frozen=True)
class Tables:
    """Files that the comparison reads: tables of `summary` by their names."""

    figure1: str | Path
    figure2: str | Path
    table1: str | Path
    order: str | Path
    options: str | Path
    weights: str | Path


def comparison(
    tables: Tables,
    settings: Mapping[str, Setting],
    out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write comparison.tsv and claims.tsv with their pages.

    Args:
        tables: the run's tables.
        settings: task -> what was looked at.
        out, html_out: every published value beside ours.
        claims_out, claims_html: claim, ours, verdict.

    Raises:
        AtlasError: a table cannot be used.
    """
    columns = {
        "figure1": FIGURE1, "figure2": FIGURE2, "table1": TABLE1, "order": ORDER, "options": OPTIONS, "weights": WEIGHTS
    }  # fmt: skip
    read = {name: read_table(path, columns[name]) for name, path in vars(tables).items()}
    published = load_published("tenney2019")
    frame = compare(published, dict(_measured(read, settings, published)))
    lines = joint_lines(settings.values())
    note = (
        "A number is compared only with the same model on the same data. The paper's 9.47 for coreference is that of "
        "BERT-large with 24 layers; BERT-base gives 3.62. Ids with rerun are the authors' own later logs, on the test "
        "set; those with f1_lex are probes on words alone."
    )
    write_comparison(frame, out, html_out, "Tenney et al. 2019: published values and this run", lines, note)
    notes = [*lines, "Claims of the paper, and doubts about them, put to this run's model."]
    write_claims(_claims(read), claims_out, claims_html, "Tenney et al. 2019: claims and this run", notes)


def _how(setting: Setting, entry: Mapping[str, Any]) -> tuple[str, str]:
    """How a published value of a task can be compared, and why."""
    if setting.model_reference != entry["model"]:
        return NO, f"another model than {entry['model']}"
    if setting.corpus_reference != entry["dataset"].replace(" / CoNLL-2012", ""):
        return NO, f"another corpus than {entry['dataset']}"
    return CLOSE, "same model and data, probes trained here"


def _measured(
    read: Mapping[str, pd.DataFrame], settings: Mapping[str, Setting], published: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Measured]]:
    figure1 = read["figure1"].set_index("task")
    tasks = {PUBLISHED_KEYS[task]: task for task in figure1.index}
    for identifier, entry in published.items():
        parts = identifier.split(".")
        task = tasks.get(parts[-2]) if len(parts) > 2 else None
        if task is not None:
            how, why = _how(settings[task], entry)
            found = _value(read, task, parts[-1])
            if parts[1] == "rerun" and how != NO:
                how, why = NO, "the authors' rerun is on the test set"
            low, high, n = found[1:] if found else (None, None, None)
            yield identifier, Measured(found[0] if found else None, how, why, low, high, n)
    yield "t19.case_threshold", Measured(AMBIGUOUS, "exact", "a setting, the paper's")
    if "pos" in figure1.index:
        row = figure1.loc["pos"]
        how, why = NO, "the paper does not say of which model; here F1 of the probe on layer 0"
        yield "t19.pos_correct_l0", Measured(float(row["f1_first"]), how, why, n=int(row["targets"]))


def _value(
    read: Mapping[str, pd.DataFrame], task: str, quantity: str
) -> tuple[Any, float | None, float | None, int | None] | None:
    """Ours of a quantity of a task, with interval and number of targets; None where nothing was computed."""
    row = read["figure1"].set_index("task").loc[task]
    bars = read["figure2"][read["figure2"]["task"] == task].sort_values("layer")
    n = int(row["targets"])
    if quantity == "f1_l0":
        return float(row["f1_first"]), None, None, n
    if quantity in ("f1_l12", "f1_l24"):
        return float(row["f1_last"]), float(row["f1_last_low"]), float(row["f1_last_high"]), n
    if quantity == "expected_layer":
        if row["noise"]:
            return None
        return float(row["expected_layer"]), float(row["expected_low"]), float(row["expected_high"]), n
    if quantity == "cog":
        return float(row["centre"]), float(row["centre_low"]), float(row["centre_high"]), n
    if quantity in ("K_s", "K_delta"):
        value = float(row[quantity.lower()])
        return (value, None, None, n) if pd.notna(value) else None
    if quantity == "gamma":
        own = read["weights"]
        own = own[(own["task"] == task) & (own["condition"] == EARLY) & (own["layer0"] == EMBEDDINGS)]
        own = own[(own["top"] == own["top"].max()) & (own["layer"] == 0)]
        return float(own["scale"].mean()), None, None, n
    if quantity == "mix_weights":
        return [float(weight) for weight in bars["weight"]], None, None, n
    if quantity == "f1_by_layer":
        return [float(score) for score in bars["f1"]], None, None, n
    if quantity == "f1_lex":
        own = read["options"]
        own = own[(own["task"] == task) & (own["layer0"] == LEXICAL)]
        return (float(own["f1_first"].iloc[0]), None, None, n) if len(own) else None
    return None


def _claims(read: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str, str]]:
    figure1, order = read["figure1"].set_index("task"), read["order"].dropna(subset=["probability"])
    known = figure1[figure1["noise"] == 0].sort_values("expected_layer")
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
    refused = ", ".join(EDGE_TASKS[str(task)] for task in figure1.index[figure1["noise"] == 1]) or "none"
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
    others = [task for task in flat.index if task not in semantic]
    if semantic and others:
        claim = "Weights of proto-roles and relations are spread most evenly (K(s), section 4.1)"
        words = ", ".join(f"{EDGE_TASKS[str(task)]} {value:.2f}" for task, value in flat.sort_values().items())
        yield claim, f"bits: {words}", claim_verdict(flat[semantic].max() < flat[others].min())
        equal = read["options"]
        equal = equal[equal["condition"] == EQUAL].set_index("task")["k_s"]
        if len(equal):
            claim = "The same with as many steps for every task"
            words = ", ".join(f"{EDGE_TASKS[str(task)]} {value:.2f}" for task, value in equal.sort_values().items())
            yield claim, f"bits: {words}", claim_verdict(equal[semantic].max() < equal[others].min())
    last = read["table1"].sort_values("layer").groupby("task", sort=False).tail(1).set_index("task")
    words = ", ".join(f"{EDGE_TASKS[str(task)]} {value:+.1f}" for task, value in last["selectivity"].items())
    claim = "Probes find more than they memorise: F1 above that of the control task (Hewitt & Liang 2019)"
    yield claim, words, claim_verdict(bool((last["selectivity"] > _SELECTIVE).all()))
    random = last["f1_random_encoder"].dropna()
    if len(random):
        gaps = last.loc[random.index, "f1"] - random
        words = ", ".join(f"{EDGE_TASKS[str(task)]} {value:+.1f}" for task, value in gaps.items())
        claim = "What probes find is learnt: F1 above that on a model with random layers"
        yield claim, words, claim_verdict(bool((gaps > 0).all()))
