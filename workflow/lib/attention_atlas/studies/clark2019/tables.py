"""Tables of Clark et al. (2019), without Table 1 (in `syntax`) and Table 3 (in `probe_scores`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.methods.dropped import RecordsByCorpus, dropped_records
from attention_atlas.methods.options import in_words
from attention_atlas.published.compare import VERDICT_NOTE, claims_table, compare, value_table
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.values import load_published, printed
from attention_atlas.studies.clark2019 import PREDICTED
from attention_atlas.studies.clark2019.claims import SMALL_GRADIENT, first_late_layer, measured_claim, middle_layers
from attention_atlas.studies.clark2019.claims import claims as tested_claims
from attention_atlas.studies.clark2019.coreference import BASELINES, BEST_HEAD
from attention_atlas.studies.clark2019.probe_scores import ATTENTION_WORDS, BIAS_FREE
from attention_atlas.workflow.shown import table

RANDOM_HEAD = "random_best_head"
PAPER_HEAD = "5-4"
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
_HEAD = ["layer", "head", "direction"]
_NOT_STATED = " (not stated in the paper)"
_VARIANTS = {
    "segment_ids": ("zeros", "pair", "the authors fed zeros for both segments and later called 0/1 better"),
    "recipe": ("authors", "clean", "segments of sentences with random cuts, or random pairs of whole paragraphs"),
    "casing": ("uncased", "cased", "the paper's text implies cased, its data are uncased"),
}
_GRADIENT = {"rows": PREDICTED, "masking": "masked", "measure": "per_weight"}
_GRADIENT_NOTES = {
    "rows": "in the last layer the gradient of queries that are not predicted is 0",
    "masking": "the paper does not say which tokens are masked: 15 % as in pre-training, or none (loss on every token)",
    "measure": "the paper does not say how it averages: over weights, of sums over the class, or of gradient times attention",
}
NOTES = {
    "word_mode": "the paper says mean; the published code takes the first subword by default",
    "poss_rule": "the code scores the 's after a possessor in the possessor's place, unless the possessor picks the last word",
    "poss_in_all": "34.7 in the authors' notebook, 34.5 in the paper",
    "all_tokens": "the row All counts punctuation and root, which no head can predict",
    "offsets": "the code's range ends at +2",
    "offset_edges": "the code lets the last word predict itself and the first ones predict ROOT",
    "sep_sep_denominator": "the code divides by 2 whatever the number of [SEP]",
    "position_denominator": "the code divides by n although one token has no such neighbour",
    "entropy_smoothing": "the code mixes in a uniform distribution",
}
_COREFERENCE_NOTES = {
    "candidates": "the paper does not say which words a head may pick",
    "scored": "the paper does not say which mentions count",
    "head_rule": "the paper does not say how the head word is determined",
    "singletons": "mentions without a chain are annotated in some corpora only",
    "shared_heads": "nested mentions can share a head word",
    "word_mode": "as in Table 1",
}
COLUMNS = ["option", "as_published", "alternative", "quantity", "value_as_published", "value_alternative", "difference", "note"]
Row = tuple[Any, ...]
"""Option, as published, alternative, note (the choice), quantity, and its value as published and with the alternative."""


@table(
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
    page = system_page(frame, "mention_type", _SYSTEMS, f"held-out selection, by {best['unit']}")
    frame["paper_head"] = np.where(frame["system"] == BEST_HEAD, PAPER_HEAD, "")
    frame["paper_accuracy"] = [_paper_accuracy(*cell) for cell in zip(frame["system"], frame["mention_type"], strict=True)]
    of_paper = 100 * frame.pivot(index="system", columns="mention_type", values="paper_accuracy")[list(_MENTION_TYPES)]
    of_paper = of_paper.reindex(page.pop("key")).add_prefix("paper_").reset_index(drop=True)
    names = {"system": "System", **_MENTION_TYPES, **{f"paper_{kind}": f"Paper: {t}" for kind, t in _MENTION_TYPES.items()}}
    return Table(frame, notes, pd.concat([page, of_paper], axis=1), names, dict.fromkeys(of_paper, ".0f"))


def _paper_accuracy(system: str, mention_type: str) -> float:
    where: dict[str, Any] = {"layer": PAPER_HEAD[0], "head": PAPER_HEAD[2]} if system == BEST_HEAD else {"system": system}
    value = printed(load_published("clark2019"), "Table 2", "accuracy", mention_type=mention_type, **where)
    return value.value / 100 if value and isinstance(value.value, int | float) else np.nan


def published_row(relation: str) -> dict[str, Any]:
    """The published head, accuracy and baseline of a relation, as shares; missing values where nothing was printed."""
    published = load_published("clark2019")
    row: dict[str, Any] = {"paper_head": None}
    for source, item in (("paper", "Table 1"), ("notebook", "notebook Table 1")):
        for name, column in (("accuracy", "accuracy"), ("baseline", "baseline_accuracy")):
            value = printed(published, item, column, relation=relation)
            row[f"{source}_{name}"] = value.value / 100 if value and isinstance(value.value, int | float) else None
            if (source, name) == ("paper", "accuracy") and value is not None:
                row["paper_head"] = value.details["head"]
    return row


def system_page(frame: pd.DataFrame, group: str, names: Mapping[str, str], heldout_name: str) -> pd.DataFrame:
    """`coreference.system_rows` for a page, in %: key (empty for held-out selection and n), title of the system, groups."""
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
    number="GAP",
    title="Pronoun resolution by gender on GAP, an addition to the paper",
    reads=("gap_systems",),
    labels=("gap",),
    needs=("gap",),
)
def gap(gap_systems: pd.DataFrame) -> Table:
    """Accuracy of choosing between two names by attention between a pronoun and the names, in either direction, by gender of
    the pronoun, on GAP (Webster et al. 2018). This gender-balanced check of Table 2 is not in the paper. Passages in which the
    pronoun refers to neither name or to both are left out; the dropped examples count them.
    """
    frame = gap_systems.astype({"layer": "Int64", "head": "Int64"})
    best = frame[frame["system"] == BEST_HEAD].set_index("gender")
    unit = best.loc[ALL, "unit"]
    page = system_page(frame, "gender", _GAP_SYSTEMS, f"held-out selection, by {unit}").drop(columns="key")
    note = (
        f"Share of passages, in %; interval: bootstrap over {best.loc[ALL, 'units']} {unit}. Best head: "
        f"{best.loc[ALL, 'direction'].replace('_', ' ')}, chosen on the same passages. Not the official score of GAP, which "
        "scores each name separately."
    )
    names = {"system": "System", ALL: "All", "masculine": "Masculine", "feminine": "Feminine"}
    return Table(frame, [note], page, names)


@table(
    title="Dropped examples, by reason",
    optional={"gap": ("gap", "gap_systems.tsv")},
    gathers=("shards_by_corpus",),
    titles=("gap",),
    needs=("segments",),
    uses=("dependencies", "coreference", "gap", "probe_training", "variants"),
)
def dropped(shards_by_corpus: RecordsByCorpus, titles: Mapping[str, str], gap: pd.DataFrame | None = None) -> Table:
    """Number of records dropped from each corpus, by reason, and of passages of GAP that are kept but not scored."""
    reason = "the pronoun refers to neither name or to both"
    return dropped_records(shards_by_corpus, None if gap is None else {titles["gap"]: (int(gap["n"].max()), reason)})


@table(
    title="Effect of each disputed choice on the results",
    reads=("surface_options", "surface"),
    optional={
        "dependency_options": ("dependencies", "dependency_options.tsv"),
        "dependencies": ("dependencies", "dependencies.tsv"),
        "gradients": ("gradients", "gradients.tsv"),
        "segment_ids": ("variants.segment_ids", "variants/segment_ids/surface.tsv"),
        "recipe": ("variants.recipe", "variants/recipe/surface.tsv"),
        "casing": ("variants.casing", "variants/casing/surface.tsv"),
        "casing_dependencies": ("variants.casing", "variants/casing/dependencies.tsv"),
        "coreference": ("coreference", "coreference_options.tsv"),
        "probes": ("probe_training", "table3_seeds.tsv"),
    },
    labels=("segments", "dependencies"),
    needs=("segments",),
    uses=("dependencies", "variants", "probe_training", "vectors", "coreference"),
)
def options(frames: Mapping[str, pd.DataFrame], coreference_options: Mapping[str, Any]) -> Table:
    """Change in the result when one choice is changed at a time, starting from the setting behind the published numbers (Clark
    et al. 2019). The paper, the published code and good practice differ on these choices. Difference: the alternative minus
    the published setting. Accuracies are shares of words (Table 1) or of all mentions (Table 2).
    """
    rows = [*_dependency_rows(frames["dependency_options"])] if "dependency_options" in frames else []
    for choice, base, changed in _changed_options(frames["surface_options"], ["option", "measure"]):
        rows.append((*choice, _surface_quantity(base["measure"].iloc[0]), base["value"].mean(), changed["value"].mean()))
    rows += [*(_gradient_rows(frames["gradients"]) if "gradients" in frames else ()), *_variant_rows(frames)]
    if "coreference" in frames:
        rows += _coreference_rows(frames["coreference"], coreference_options)
    if "probes" in frames:
        rows += _probe_rows(frames["probes"])
    frame = pd.DataFrame(rows, columns=[*COLUMNS[:3], "note", *COLUMNS[3:6]])
    frame["difference"] = frame["value_alternative"] - frame["value_as_published"]
    return Table(frame[COLUMNS], layout=Layout("option"))


def _dependency_rows(table: pd.DataFrame) -> Iterator[Row]:
    names = {"accuracy": "best head", "baseline_accuracy": "baseline"}
    for choice, of_option, of_changed in _changed_options(table, "option"):
        base, changed = (frame.set_index("relation") for frame in (of_option, of_changed))
        for relation, (column, name) in product((ALL, "poss"), names.items()):
            if relation in base.index:
                yield (*choice, f"Table 1, {relation}: {name}", base.loc[relation, column], changed.loc[relation, column])
        base, changed = base.drop(ALL), changed.loc[base.index.drop(ALL)]
        for column, name in names.items():
            yield (*choice, f"Table 1, mean over {len(base)} relations: {name}", base[column].mean(), changed[column].mean())
        same_head = (base[_HEAD] == changed[_HEAD]).all(axis=1).mean()
        yield (*choice, "Table 1, share of relations with the same best head", 1.0, same_head)


def _changed_options(table: pd.DataFrame, keys: str | list[str]) -> Iterator[tuple[Row, pd.DataFrame, pd.DataFrame]]:
    """The results as published and with each alternative; the published setting comes first."""
    for _, frame in table.groupby(keys, sort=False):
        (published, base), *alternatives = frame.groupby(frame["setting"].astype(str), sort=False)
        option = frame["option"].iloc[0]
        yield from (((option, published, alternative, NOTES[option]), base, changed) for alternative, changed in alternatives)


def _gradient_rows(by_head: pd.DataFrame) -> Iterator[Row]:
    """The ratio of the claim of section 3.2; over other queries also the last layer, which depends most on them."""
    means = by_head.groupby([*_GRADIENT, "layer", "target"], sort=False)["value"].mean()
    table = means.unstack("target", sort=False).reindex(columns=["sep", "other"]).reset_index()
    last = table["layer"].max()
    if not last > 1:
        return
    by_reading = {key: frame.set_index("layer") for key, frame in table.groupby(list(_GRADIENT))}
    late = first_late_layer(last)
    base = by_reading[tuple(_GRADIENT.values())]
    for name, published in _GRADIENT.items():
        for alternative in table.loc[table[name] != published, name].unique():
            changed = by_reading[tuple((_GRADIENT | {name: alternative}).values())]
            choice = (f"gradient_{name}", published + _NOT_STATED, alternative, _GRADIENT_NOTES[name])
            for target, title in (("sep", "[SEP]"), ("other", "other tokens")) if name == "rows" else ():
                ratios = (frame.loc[last, target] / frame.loc[last - 1, target] for frame in (base, changed))
                yield (*choice, f"Figure 3, gradient to {title}: last layer over the one before", *ratios)
            ratios = (frame.loc[late:, "sep"].max() / frame["sep"].max() for frame in (base, changed))
            statistic = f"largest of layers {late} to {last} over the largest of all (claim: below {SMALL_GRADIENT})"
            yield (*choice, f"Figure 3, gradient to [SEP]: {statistic}", *ratios)


def _variant_rows(frames: Mapping[str, pd.DataFrame]) -> Iterator[Row]:
    for name, readings in _VARIANTS.items():
        if name not in frames:
            continue
        choice = (name, *readings)
        base, changed = (table.groupby("measure", sort=False)["value"].mean() for table in (frames["surface"], frames[name]))
        for measure_name, mean in base.items():
            yield (*choice, _surface_quantity(measure_name), mean, changed.get(measure_name, math.nan))
        if f"{name}_dependencies" in frames:
            merged = frames["dependencies"].merge(frames[f"{name}_dependencies"], on="relation", suffixes=("", "_other"))
            for entry in merged.itertuples():
                yield (*choice, f"Table 1, {entry.relation}: best head", entry.accuracy, entry.accuracy_other)


def _coreference_rows(table: pd.DataFrame, options: Mapping[str, Any]) -> Iterator[Row]:
    (_, base), *alternatives = table.set_index("system").groupby(["option", "setting"], sort=False)
    for (option, setting), changed in alternatives:
        for system in (*BASELINES, BEST_HEAD):
            before, after = base.loc[system], changed.loc[system]
            note = _COREFERENCE_NOTES[option]
            if after["n"] != before["n"]:
                note += f"; {after['n']:.0f} instead of {before['n']:.0f} mentions"
            if system == BEST_HEAD and list(after[_HEAD]) != list(before[_HEAD]):
                heads = (f"{h['layer']:.0f}-{h['head']:.0f} ({h['direction'].replace('_', ' ')})" for h in (after, before))
                note += f"; head {' instead of '.join(heads)}"
            choice = (f"coreference_{option}", in_words(options[option]) + _NOT_STATED, setting, note)
            yield (*choice, f"Table 2, all: {system.replace('_', ' ')}", before["accuracy"], after["accuracy"])


def _probe_rows(by_seed: pd.DataFrame) -> Iterator[Row]:
    """What the bias of the published code adds to the probe of the paper's formula, at the same seed and alignment of ROOT."""
    with_bias, without = (by_seed[by_seed["probe"] == name] for name in (ATTENTION_WORDS, BIAS_FREE))
    both = with_bias.merge(without, on=["root_alignment", "model", "seed"], suffixes=("", "_free"))
    note = "the published code adds a bias to the weights of the maps, the paper's formula has none"
    choice = ("probe_bias", "released_code", "as_published", note)
    for entry in both.itertuples():
        quantity = f"Table 3, attention and words, ROOT {entry.root_alignment}, seed {entry.seed}: UAS"
        yield (*choice, quantity, entry.uas, entry.uas_free)


def _surface_quantity(measure: Any) -> str:
    places = {"entropy": "Figure 4", "entropy_cls": "Figure 4", "row_maximum": "Section 3.3"}
    places |= dict.fromkeys(("next", "previous", "current"), "Section 3.1")
    return f"{places.get(measure, 'Figure 2')}, {measure}: mean over heads"


@table(
    title="Every published number beside this run's",
    reads=("surface", "surface_summary", "surface_claims"),
    optional={
        "gradients": ("gradients", "gradients.tsv"),
        "gradient_claims": ("gradients", "gradient_claims.tsv"),
        "dependencies": ("dependencies", "dependencies.tsv"),
        "dependency_heads": ("dependencies", "dependency_heads.tsv"),
        "dependency_summary": ("dependencies", "dependency_summary.tsv"),
        "dependency_claims": ("dependencies", "dependency_claims.tsv"),
        "table2": ("coreference", "table2.tsv"),
        "coreference_heads": ("coreference", "coreference_heads.tsv"),
        "table3": ("probe_training", "table3.tsv"),
        "table3_gains": ("probe_training", "table3_gains.tsv"),
        "training": ("probe_training", "probe_training.tsv"),
    },
    labels=("segments", "dependencies", "coreference", "probe_training"),
    needs=("segments",),
    uses=("dependencies", "coreference", "probe_training", "vectors"),
)
def comparison(frames: Mapping[str, pd.DataFrame], clustering: Mapping[str, Any], labels: Mapping[str, RunLabel]) -> Table:
    """Every published number of the study beside this run's, whether the two are comparable and why, and a verdict. A number is
    compared only with the same model on the same data (exact), or on data made in the same way or with values read off a
    figure (close).
    """
    tested = [one for one in tested_claims(frames, labels) if one.identifier]
    segments = frames["surface_summary"].set_index("quantity")["value"]
    tables = dict(frames) | {
        "surface_summary": frames["surface_summary"].assign(n=int(segments["segments"])),
        "quantities": quantities(_quantities(frames, segments, clustering)),
    }
    if "dependencies" in frames:
        best = frames["dependencies"].rename(columns={"accuracy_ci_low": "ci_low", "accuracy_ci_high": "ci_high"})
        tables["dependency_heads"] = _with_best(frames["dependency_heads"], best, "relation")
    if "coreference_heads" in frames:
        best = frames["table2"][frames["table2"]["system"] == BEST_HEAD]
        tables["coreference_heads"] = _with_best(frames["coreference_heads"], best, "mention_type")
    published = load_published("clark2019")
    frame = compare(published, measure(published, tables, labels) | {one.identifier: measured_claim(one) for one in tested})
    note = (
        "Numbers of a named head (Table 1, head 5-4 of Table 2) are compared with those of the head at the same layer and "
        "position. Claims on order and thresholds are tested on any model: our value is then the statistic that tests the "
        "claim, and n the number of independent units of its interval; where the published value is a list of layers, so is "
        "ours, without an interval. " + VERDICT_NOTE
    )
    return value_table(frame, [note])


def _quantities(frames: Mapping[str, pd.DataFrame], segments: pd.Series, thresholds: Mapping[str, Any]) -> Iterator[Quantity]:
    yield from (Quantity(f"threshold_{name}", float(thresholds[name])) for name in ("broad_entropy", "position", "special"))
    n = int(segments["segments"])
    yield Quantity("sep_expected", 2 / float(segments["mean_tokens"]), n)
    surface = frames["surface"]
    sep = surface[surface["measure"] == "sep"].groupby("layer")["value"].mean().to_numpy()
    if len(sep):
        first, last = middle_layers(len(sep))
        yield Quantity("middle_sep_lowest", 100 * float(sep[first:last].min()), n)
        yield Quantity("middle_sep_highest", 100 * float(sep[first:last].max()), n)
    if "table3" in frames:
        # UAS with ROOT aligned correctly minus UAS as published, in percentage points.
        scored = frames["table3"].query("punctuation == 'without'")
        uas = scored.groupby(["probe", "root_alignment"])["uas"].mean().unstack().reindex(columns=["fixed", "legacy"]).dropna()
        for probe, gain in (uas["fixed"] - uas["legacy"]).items():
            yield Quantity(f"root_gain_{probe}", 100 * float(gain))


def _with_best(heads: pd.DataFrame, best: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Accuracies of all heads, with the `best` one of each kind (relation or type of mention) in words, and its interval."""
    place = [kind, "layer", "head", "direction"]
    best = best[[*place, "accuracy", "ci_low", "ci_high"]].astype({"layer": int, "head": int})
    names = {
        key: f"{layer}-{head} {direction.replace('_', ' ')} {100 * accuracy:.1f} %"
        for key, layer, head, direction, accuracy, *_ in best.itertuples(index=False)
    }
    intervals = [name for name in ("ci_low", "ci_high") if name not in heads]
    merged = heads.merge(best[[*place, *intervals]], on=place, how="left")
    return merged.assign(best=merged[kind].map(names).fillna("not measured"))


@table(
    title="The paper's claims on order and thresholds, tested on the run's model",
    reads=("surface", "surface_claims", "clustering_test"),
    optional={
        "gradients": ("gradients", "gradients.tsv"),
        "gradient_claims": ("gradients", "gradient_claims.tsv"),
        "dependencies": ("dependencies", "dependencies.tsv"),
        "dependency_claims": ("dependencies", "dependency_claims.tsv"),
        "dependency_noop": ("dependencies", "dependency_noop.tsv"),
        "coreference_claims": ("coreference", "coreference_claims.tsv"),
        "table3_gains": ("probe_training", "table3_gains.tsv"),
        "table3_leads": ("probe_training", "table3_leads.tsv"),
    },
    labels=("segments", "dependencies", "coreference", "probe_training"),
    needs=("segments",),
    uses=("dependencies", "coreference", "probe_training", "vectors"),
    resources=("published/fixed_claims.tsv",),
)
def claims(frames: Mapping[str, pd.DataFrame], labels: Mapping[str, RunLabel]) -> Table:
    """What the paper says about order and thresholds, tested on this run's model: the claim, its statistic with an interval,
    and whether it holds (Clark et al. 2019, sections 1 and 3 to 6). A threshold that the paper does not give is called ours.
    """
    published = load_published("clark2019")
    placed = []
    for one in tested_claims(frames, labels):
        place = published[one.identifier].item if one.identifier else one.place
        ours = f"{one.claim.ours}; on {one.label.corpus}"
        placed.append(replace(one.claim, statement=f"{place}: {one.claim.statement}", ours=ours))
    return claims_table(placed)
