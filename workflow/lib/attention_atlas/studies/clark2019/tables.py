"""Tables 1 to 3, GAP and dropped examples; what is disputed or published is in `tables_published`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.corpora.examples import RecordsByCorpus, dropped_records
from attention_atlas.io.html_tables import Table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.methods.dependency_scoring import PAPER_RELATIONS
from attention_atlas.published.values import load_published, printed, published_column
from attention_atlas.stats.simultaneous import holm
from attention_atlas.studies.clark2019.names import (
    ALL,
    ATTENTION,
    ATTENTION_WORDS,
    BEST_HEAD,
    BIAS_FREE,
    DISTANCES_WORDS,
    RANDOM,
)
from attention_atlas.workflow.shown import table

RANDOM_HEAD = "random_best_head"
"""The best head of a model with random weights."""
UNIVERSAL = frozenset(("obj", "obl", "case"))
"""Relations of Universal Dependencies that Stanford Dependencies do not have."""
_RELATION_COLUMNS = (
    *("relation", "n", "layer", "head", "direction", "accuracy", "accuracy_ci_low", "accuracy_ci_high"),
    *("heldout_accuracy", "baseline_offset", "baseline_accuracy"),
    *("margin", "margin_ci_low", "margin_ci_high", "heldout_baseline", "tested_margin", "p_value", "unit", "units"),
)
_RANDOM = ("layer", "head", "direction", "accuracy", "heldout_accuracy", "heldout_ci_low", "heldout_ci_high")
PAPER_HEAD = "5-4"
"""The best head of the paper's Table 2, layer and head."""
_MENTION_TYPES = {ALL: "All", "pronoun": "Pronoun", "proper": "Proper", "nominal": "Nominal"}
_SYSTEMS = {
    "chance": "A candidate at random",
    "nearest": "Nearest other mention",
    "head_match": "Nearest with the same head word",
    "rule_based": "Rule-based (four sieves)",
    BEST_HEAD: "Best attention head",
    RANDOM_HEAD: "Random weights: best attention head",
}
_GAP_SYSTEMS = {
    "chance": "One of two at random",
    "first_name": "The name that comes first",
    "nearest_name": "The name nearest to the pronoun",
    BEST_HEAD: "Best attention head",
}
_PROBES = {
    "right_branching": ("Right-branching: the next word", "t3_rightbranch"),
    "best_offset": ("Best fixed offset", None),
    BEST_HEAD: ("Best single attention head", None),
    DISTANCES_WORDS: ("Distances and word vectors", "t3_dist_glove"),
    RANDOM: ("Randomly initialised attention and word vectors", "t3_random_attn_glove"),
    ATTENTION: ("Attention only", "t3_attn"),
    ATTENTION_WORDS: ("Attention and word vectors", "t3_attn_glove"),
    BIAS_FREE: ("Attention and word vectors, formula without bias", None),
}
"""Probe -> row of the page of Table 3, and the published value."""
_PROBE_COLUMNS = (
    *("probe", "root_alignment", "punctuation", "seeds", "uas", "sd", "ci_low", "ci_high"),
    *("paper_uas", "notebook_uas", "root_accuracy", "n", "unit", "units", "model", "vectors", "training"),
)


@table(
    id="table1",
    number="Table 1",
    title="The best head of each dependency relation, with intervals and held-out choice",
    reads=("dependencies",),
    optional={"random": ("random_model", "variants/random/dependencies.tsv")},
    labels=("dependencies",),
    needs=("dependencies",),
    files=("dependencies.tsv", "dependency_heads.tsv", "dependency_head_relations.tsv"),
)
def table1(dependencies: pd.DataFrame, labels: Mapping[str, RunLabel], random: pd.DataFrame | None = None) -> Table:
    """The most accurate head for each dependency relation (Clark et al. 2019, Table 1). Accuracy: share of the words with this
    relation whose head word gets the largest attention, in the better of both directions; the head is chosen on the same
    sentences, as in the paper. Held-out: head or offset chosen on the other folds of documents.
    """
    relations = dependencies.set_index("relation", drop=False)
    names = [name for name in PAPER_RELATIONS if name in relations.index]
    if not UNIVERSAL.isdisjoint(relations.index):
        # A treebank in Universal Dependencies has other labels: its further relations follow, with no published values.
        names += [name for name in relations.index if name not in PAPER_RELATIONS]
    frame = relations.loc[names, list(_RELATION_COLUMNS)].reset_index(drop=True)
    # Corrected over the rows of this table, whatever further rows the table of relations has (setting `min_count`).
    tested = frame["p_value"].notna()
    frame.loc[tested, "p_value"] = holm(frame.loc[tested, "p_value"].to_numpy(np.float64))
    frame = frame.rename(columns={"p_value": "p_holm"})
    of_random = pd.DataFrame(columns=["relation", *_RANDOM], dtype=float) if random is None else random
    control = of_random.set_index("relation")[list(_RANDOM)].reindex(names).add_prefix("random_").reset_index(drop=True)
    control = control.astype({"random_layer": "Int64", "random_head": "Int64"})
    published = pd.DataFrame([published_row(name) for name in names])
    frame = pd.concat([frame, control, published], axis=1)
    frame["relations_are"] = "converted" if labels["dependencies"].converted else "annotated"
    columns = {
        "relation": "Relation",
        "n": "n",
        "best": "Head",
        "direction": "Direction",
        "accuracy": "Accuracy %",
        "interval": "95 % interval",
        "heldout_accuracy": "Held-out %",
        "random_heldout_accuracy": "Random weights, held-out %",
        "baseline_accuracy": "Baseline %",
        "baseline_offset": "Offset",
        "p_holm": "p (Holm)",
        "paper_head": "Paper: head",
        "paper_accuracy": "Paper: accuracy %",
        "paper_baseline": "Paper: baseline %",
        "notebook_accuracy": "Authors' notebook %",
        "notebook_baseline": "Notebook baseline %",
    }
    if random is None:
        del columns["random_heldout_accuracy"]
    percent = [name for name in columns if name.endswith(("accuracy", "baseline"))]
    page = frame.assign(
        best=[f"{row.layer}-{row.head}" for row in frame.itertuples()],
        interval=[f"{100 * row.accuracy_ci_low:.1f} to {100 * row.accuracy_ci_high:.1f}" for row in frame.itertuples()],
        direction=frame["direction"].map({"dependent_to_head": "dep → head", "head_to_dependent": "head → dep"}),
        **{name: 100 * frame[name].astype(float) for name in percent},
    )[list(columns)]
    unit = frame["unit"].iloc[0]
    notes = [
        f"Interval: bootstrap over {frame['units'].max()} {unit} with the head fixed. Baseline: best fixed offset. p: "
        f"permutation test of the head against the offset, both chosen on one half of the {unit} and compared on the other "
        "(tested_margin in the file), Holm-corrected over the rows of this table."
        + ("" if random is None else " Random weights: the same selection among the heads of a model with random weights."),
        "The paper prints 82.5 / 40.5 for auxpass; in the authors' notebook the head has 94.1 and 82.5 is its baseline.",
    ]
    formats = dict.fromkeys(percent, ".1f") | {"baseline_offset": "+d", "p_holm": ".2g", "n": "d"}
    return Table(frame, notes, page, columns, formats)


def published_row(relation: str) -> dict[str, Any]:
    """The published head, accuracy and baseline of a relation, as shares; missing values where nothing was printed."""
    published = load_published("clark2019")

    def share(item: str, column: str) -> float | None:
        value = printed(published, item, column, relation=relation)
        return value.value / 100 if value and isinstance(value.value, int | float) else None

    accuracy = printed(published, "Table 1", "accuracy", relation=relation)
    return {
        "paper_head": accuracy.details["head"] if accuracy else None,
        "paper_accuracy": share("Table 1", "accuracy"),
        "paper_baseline": share("Table 1", "baseline_accuracy"),
        "notebook_accuracy": share("notebook Table 1", "accuracy"),
        "notebook_baseline": share("notebook Table 1", "baseline_accuracy"),
    }


@table(
    id="table2",
    number="Table 2",
    title="The best coreference head and rule-based baselines, by type of mention",
    reads=("coreference", "coreference_summary"),
    optional={"random": ("random_model", "variants/random/coreference.tsv")},
    labels=("coreference",),
    needs=("coreference",),
    files=("coreference_heads.tsv",),
)
def table2(coreference: pd.DataFrame, coreference_summary: pd.DataFrame, random: pd.DataFrame | None = None) -> Table:
    """Share of mentions whose head word picks the head word of an antecedent (Clark et al. 2019, Table 2). Sieves: the nearest
    mention of the first that is not empty (same words; same head word; number, gender and person agree; any). The head is
    chosen on the same documents; held-out: on the other folds.
    """
    frame = coreference.astype({"layer": "Int64", "head": "Int64"})
    if random is not None:
        control = random[random["system"] == BEST_HEAD].assign(system=RANDOM_HEAD)
        frame = pd.concat([frame, control.astype({"layer": "Int64", "head": "Int64"})], ignore_index=True)
    summary = coreference_summary.set_index("quantity")["value"]
    best = frame[frame["system"] == BEST_HEAD].iloc[0]
    notes = [
        f"In %. Interval: bootstrap over {best['units']} {best['unit']}. {summary['documents']} documents, "
        f"{summary['mentions']} mentions. Head words: {summary['head_rule']}; types of mentions: by {summary['tags']}. "
        f"Best head: {best['direction'].replace('_', ' ')}. The sieves take gender from words, and from "
        f"{int(summary['first_names']):,} first names (the US Census of 1990).",
        f"Paper: values for BERT-base on CoNLL-2012; its best head is {PAPER_HEAD}.",
    ]
    paper = _paper_coreference()
    page = system_page(frame, "mention_type", _SYSTEMS, f"held-out selection, by {best['unit']}")
    of_paper = paper.reindex(page.pop("key")).add_prefix("paper_").reset_index(drop=True)
    names = {"system": "System", **_MENTION_TYPES, **{f"paper_{kind}": f"Paper: {t}" for kind, t in _MENTION_TYPES.items()}}
    formats = dict.fromkeys(of_paper, ".0f")
    shares = (paper / 100).stack().rename("paper_accuracy").rename_axis(["system", "mention_type"]).reset_index()
    paper_head = np.where(frame["system"] == BEST_HEAD, PAPER_HEAD, "")
    frame = frame.assign(paper_head=paper_head).merge(shares, how="left", on=["system", "mention_type"])
    return Table(frame, notes, pd.concat([page, of_paper], axis=1), names, formats)


def _paper_coreference() -> pd.DataFrame:
    """Table 2 of the paper in %: a row for each system, a column for each type of mention."""
    published = load_published("clark2019")
    cells: dict[str, dict[str, object]] = {name: {"system": name} for name in ("nearest", "head_match", "rule_based")}
    layer, head = PAPER_HEAD.split("-")
    cells[BEST_HEAD] = {"layer": int(layer), "head": int(head)}
    rows = {}
    for name, cell in cells.items():
        values = {kind: printed(published, "Table 2", "accuracy", mention_type=kind, **cell) for kind in _MENTION_TYPES}
        rows[name] = {kind: None if value is None else value.value for kind, value in values.items()}
    return pd.DataFrame.from_dict(rows, orient="index").astype(float)


def system_page(frame: pd.DataFrame, group: str, names: Mapping[str, str], heldout_name: str) -> pd.DataFrame:
    """`coreference.system_rows` for a page: a row for each of the systems `names`, with accuracies and intervals in %, and n.

    Columns: key (the system, empty for held-out selection and n), system (its title), and one for each group.
    """
    rows: list[dict[str, str]] = []
    for system, name in names.items():
        by_group = frame[frame["system"] == system].set_index(group)
        if by_group.empty:
            continue
        is_head = system in (BEST_HEAD, RANDOM_HEAD)
        title = f"{name} {by_group.iloc[0]['layer']}-{by_group.iloc[0]['head']}" if is_head else name
        rows.append({"key": system, "system": title} | {g: _with_interval(row) for g, row in by_group.iterrows()})
        if is_head:
            title = heldout_name[0].upper() + heldout_name[1:] if system == BEST_HEAD else f"Random weights: {heldout_name}"
            heldout = {g: _with_interval(row, "heldout_accuracy", "heldout_ci") for g, row in by_group.iterrows()}
            rows.append({"key": "", "system": title} | heldout)
    best = frame[frame["system"] == BEST_HEAD].set_index(group)
    return pd.DataFrame([*rows, {"key": "", "system": "n"} | best["n"].astype(str).to_dict()])


def _with_interval(row: pd.Series, accuracy: str = "accuracy", interval: str = "ci") -> str:
    ends = f"({100 * row[f'{interval}_low']:.1f} to {100 * row[f'{interval}_high']:.1f})"
    return f"{100 * row[accuracy]:.1f} {ends}" if row["n"] else ""


@table(
    id="gap",
    number="GAP",
    title="Pronoun resolution by gender on GAP, an addition to the paper",
    reads=("gap_systems",),
    labels=("gap",),
    needs=("gap",),
    files=("gap_heads.tsv",),
)
def gap(gap_systems: pd.DataFrame) -> Table:
    """Accuracy of choosing between two names by attention between a pronoun and the names, in either direction, by gender of
    the pronoun, on GAP (Webster et al. 2018). This gender-balanced check of Table 2 is not in the paper. Passages in which the
    pronoun refers to neither name or to both are left out; the dropped examples count them.
    """
    frame = gap_systems.astype({"layer": "Int64", "head": "Int64"})
    best = frame[frame["system"] == BEST_HEAD].set_index("gender")
    accuracy = frame.pivot(index="system", columns="gender", values="accuracy")
    ratio = (accuracy["feminine"] / accuracy["masculine"]).loc[list(_GAP_SYSTEMS)]
    heldout = best["heldout_accuracy"]
    unit = best.loc[ALL, "unit"]
    page = system_page(frame, "gender", _GAP_SYSTEMS, f"held-out selection, by {unit}").drop(columns="key")
    page["ratio"] = [*ratio, heldout["feminine"] / heldout["masculine"], np.nan]
    note = (
        f"Share of passages, in %; interval: bootstrap over {best.loc[ALL, 'units']} {unit}. Best head: "
        f"{best.loc[ALL, 'direction'].replace('_', ' ')}, chosen on the same passages. Not the official score of GAP, which "
        "scores each name separately."
    )
    names = {"system": "System", ALL: "All", "masculine": "Masculine", "feminine": "Feminine", "ratio": "Feminine / masculine"}
    return Table(frame, [note], page, names)


@table(
    id="table3",
    number="Table 3",
    title="Probing classifiers on attention, with and without words, and their baselines",
    reads=("probe_scores", "probe_training"),
    labels=("dependencies",),
    titles=("probe_training",),
    needs=("dependencies", "probe_training"),
    uses=("vectors",),
    files=("table3_seeds.tsv", "table3_gains.tsv", "table3_leads.tsv"),
)
def table3(probe_scores: pd.DataFrame, probe_training: pd.DataFrame, titles: Mapping[str, str]) -> Table:
    """Accuracy of probes that predict dependency heads from all attention heads, mean over seeds (Clark et al. 2019, Table 3).
    ROOT as published: word vectors shifted against attention by one position, an error of the published code; ROOT fixed:
    without it, as in all further columns. Each word's best candidate, without punctuation, unless stated.
    """
    training = probe_training.set_index("quantity")["value"]
    published = load_published("clark2019")
    # The paper has each word's best candidate, without punctuation, and ROOT aligned as in the published code.
    items = {"paper_uas": "Table 3", "notebook_uas": "notebook probe"}
    papers = {name: published_column(published, item, "table3", "mean(uas)", probe_scores) for name, item in items.items()}
    frame = probe_scores.assign(**papers).astype({**dict.fromkeys(items, float), "units": "Int64"})
    # The rows of the paper first, in its order; then the same with ROOT aligned, further rows, and those with punctuation.
    order = frame["probe"].map(list(_PROBES).index), frame["punctuation"] != "without", frame["paper_uas"].isna()
    frame = frame.iloc[np.lexsort(order)].reset_index(drop=True)
    indexed = frame.set_index(["probe", "root_alignment", "punctuation"])
    rows = []
    for probe, (title, identifier) in _PROBES.items():
        of_probe = frame[frame["probe"] == probe]
        if of_probe.empty:
            continue
        alignments = set(of_probe["root_alignment"])
        last = next(name for name in ("fixed", "-", "legacy") if name in alignments)
        least, largest = (training.get(f"{probe}_kept_epoch_{end}", "") for end in ("min", "max"))
        row: dict[str, object] = {"probe": title, "seeds": int(of_probe["seeds"].iloc[0])}
        for alignment in ("legacy", "fixed"):
            row[alignment] = _uas(indexed, (probe, alignment if alignment in alignments else "-", "without"))
        row["with_punctuation"] = _uas(indexed, (probe, last, "with"))
        row["epochs"] = f"{least}" if least == largest else f"{least} to {largest}"
        row["root"] = 100 * indexed.loc[(probe, last, "without"), "root_accuracy"]
        row["paper"] = published[identifier].value if identifier else np.nan
        rows.append(row)
    notes = [
        f"Trained on {titles['probe_training']}: {training['sentences']} sentences ({training['duplicates']} that are also in "
        f"the evaluation treebank are {training['duplicates_are']}), batches of {training['batch']} ({training['order']} "
        f"order), Adam with learning rate {training['learning_rate']}. Parameters are initialised as in the published code, "
        f"with this run's seeds. {_epochs_note(training)} Word vectors: {training['vectors']}; "
        f"{100 * float(training['coverage']):.1f} % of the words have one.",
        _attention_note(indexed),
        "In %, with the standard deviation over seeds.",
    ]
    names = {
        "probe": "Probe",
        "seeds": "Seeds",
        "legacy": "ROOT as published",
        "fixed": "ROOT fixed",
        "with_punctuation": "With punctuation",
        "epochs": "Epochs",
        "root": "ROOT words correct %",
        "paper": "Paper",
    }
    formats = {"root": ".1f", "paper": ".0f", "seeds": "d"}
    return Table(frame[list(_PROBE_COLUMNS)], notes, pd.DataFrame(rows), names, formats)


def _epochs_note(training: pd.Series) -> str:
    if not int(training["development_sentences"]):
        return f"Epochs: {training['epochs']}, the same for every probe."
    return (
        f"Epochs: at most {training['epochs']}; every probe, seed and alignment of ROOT keeps the epoch with the lowest loss "
        f"on {training['development_sentences']} sentences of the training treebank that no probe is trained on (early "
        f"stopping with a patience of {training['patience']} epochs)."
    )


def _attention_note(indexed: pd.DataFrame) -> str:
    """Whether the probe on attention alone, which weights all heads, beats the best single head."""
    probe, head = (indexed.loc[(name, "-", "without")] for name in (ATTENTION, BEST_HEAD))
    note = (
        f"Attention only {{}} the best single head ({100 * head['uas']:.1f} %: {head['model']}, chosen on the same treebank)."
    )
    if probe["uas"] > head["uas"]:
        return note.format("beats")
    return note.format("stays below") + " It weights all heads, so it must be undertrained."


def _uas(indexed: pd.DataFrame, key: tuple[str, str, str]) -> str:
    if key not in indexed.index:
        return ""
    row = indexed.loc[key]
    return f"{100 * row['uas']:.1f}" + (f" ± {100 * row['sd']:.1f}" if pd.notna(row["sd"]) else "")


@table(
    id="dropped",
    number="Dropped",
    title="Dropped examples, by reason",
    optional={"gap": ("gap", "gap_systems.tsv")},
    gathers=("shards_by_corpus",),
    titles=("gap",),
    needs=("segments", "dependencies"),
    uses=("coreference", "gap", "probe_training", "variants"),
)
def dropped(shards_by_corpus: RecordsByCorpus, titles: Mapping[str, str], gap: pd.DataFrame | None = None) -> Table:
    """Number of records dropped from each corpus, by reason, and of passages of GAP that are kept but not scored."""
    reason = "the pronoun refers to neither name or to both"
    return dropped_records(shards_by_corpus, None if gap is None else {titles["gap"]: (int(gap["n"].max()), reason)})
