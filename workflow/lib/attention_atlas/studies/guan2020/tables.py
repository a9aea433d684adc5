"""Tables of Guan et al. (2020)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods import head_types as distance_types
from attention_atlas.methods.dropped import RecordsByCorpus, dropped_records
from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, FEATURES, TITLES, TYPES, UNNAMED, VERTICAL
from attention_atlas.published.compare import Claim, all_hold, claims_table, compare, value_table
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.values import load_published, printed
from attention_atlas.stats.intervals import LEVEL, Floats, expanded_level, level_of_parts
from attention_atlas.stats.simultaneous import simultaneous_interval
from attention_atlas.studies.guan2020.rows import (
    BASELINE,
    MODEL_TITLES,
    PRUNED,
    ROWS,
    SCORES,
    SENTENCES,
    UNIFORMED,
    passage_interval,
    unnamed_clusters,
)
from attention_atlas.workflow.shown import table

Change = tuple[int, str]
"""Number of a row, and its definition of a sentence."""
_FEWEST_PASSAGES = 10
"""Bootstrap intervals over fewer passages are too short for a verdict."""
_PAIRED = "mean over questions, percentage points"
_SCORES_NOTE = (
    "EM: exact match, in %; intervals: bootstrap over passages. Random: random sets of other heads, as many in each layer, "
    "treated in the same way; mean drop, minimum to maximum, and number of sets; none where a layer has too few other heads. "
    "No model is retrained."
)


@table(title="Stability of the types of heads, in every reading of the procedure", reads=("stability",), labels=("compared",))
def table1(stability: pd.DataFrame) -> Table:
    """Share of heads that keep their cluster when random halves of the heads, or of the inputs, are clustered (Guan et al.
    2020, Table 1). In all: in every fit of a set, compared with all data ("consistent on all models" in the paper). Pairwise:
    over all pairs of fits. Means over sets of fits; 95 % interval of one set.
    """
    published = load_published("guan2020")
    values = [_number(printed(published, "Table 1", "consistent_in_all", model=name)) / 100 for name in stability["model"]]
    frame = stability.assign(paper_stability=values)
    note = (
        "Examples: questions, of each the first window, or pairs of sentences. None of the paper's values (BERT-large) is a "
        "whole number of its 384 heads, as a mean over pairs need not be."
    )
    names = {"pairwise": "Pairwise", "consistent_in_all": "In all", "paper_stability": "Paper"}
    names |= {f"consistent_in_all_ci_{end}": f"In all, {end}" for end in ("low", "high")}
    formats = dict.fromkeys(names, ".2%") | dict.fromkeys(("fits", "sets", "heads", "examples"), "d")
    return Table(frame, [note], frame.assign(model=frame["model"].replace(MODEL_TITLES)), names, formats)


def _number(paper: Any) -> float:
    """A published value; NaN where there is none, or it cannot be read."""
    return float(paper.value) if paper and isinstance(paper.value, int | float) else np.nan


@table(
    title="Answers to questions with the heads of a type pruned or substituted, and random heads as a control",
    reads=("answers.parquet", "head_types", "baselines"),
    labels=("questions",),
    files=("baselines.tsv",),
    megabytes=2000,
    minutes=20,
)
def table2(answers: pd.DataFrame, head_types: pd.DataFrame, baselines: pd.DataFrame, resamples: int, seed: int) -> Table:
    """Exact match and F1 of answers when the heads of a type are pruned (0) or attend uniformly to all real tokens (1/L), the
    drop from the unchanged model, and the drop when as many random heads of the same layers are treated in the same way (Guan
    et al. 2020, Table 2). v: the head keeps its attention.
    """
    frame = _rows("Table 2", answers, head_types, resamples, seed)
    marks = {"zero": "0", "uniform": "1/L"}
    page = pd.DataFrame({"id": frame["row"].astype(str)})
    unnamed = {name for names in frame["unnamed"].dropna() for name in names.split("+")}
    for name in TYPES:
        page[f"Unnamed (for {TITLES[name]})" if name in unnamed else TITLES[name]] = [
            marks.get(str(action), "v") if name in str(types).split("+") else "v"
            for action, types in zip(frame["action"], frame["types"], strict=True)
        ]
    ways = [f"{row.em:.1f} / {row.f1:.1f} ({row.windows} and {row.references})" for row in baselines.itertuples()]
    notes = [
        _scores_note(frame),
        "The paper's baseline F1 (89.68) lies 3.5 below the score reported for its checkpoint (93.15): drops from each "
        "baseline can be compared, scores cannot. Our baseline by windows of a passage and reference answers, all or first: "
        f"{', '.join(ways)}.",
        "The exact match in row 1 of the paper's table is not legible in the copy that was transcribed; it lies between "
        "81.42 and 82.92.",
    ]
    return Table(frame, notes, pd.concat([page, _score_columns(frame)], axis=1))


@table(
    title="Answers to questions without attention within or between sentences, by type of head",
    reads=("answers.parquet", "head_types"),
    labels=("questions",),
    megabytes=2000,
    minutes=20,
)
def table3(answers: pd.DataFrame, head_types: pd.DataFrame, resamples: int, seed: int) -> Table:
    """Exact match and F1 of answers without attention within or between sentences in the heads of a type (Guan et al. 2020,
    Table 3). The paper does not say what a sentence is: question and passage, or the sentences of the passage, split by
    sentencex or after every full stop (option sentences).
    """
    frame = _rows("Table 3", answers, head_types, resamples, seed)
    actions = {"intra": "within sentences", "inter": "between sentences"}
    page = pd.DataFrame(
        {
            "id": frame["row"].astype(str),
            "removed": [actions.get(str(action), "nothing") for action in frame["action"]],
            "of types": [", ".join(TITLES[t] for t in str(types).split("+") if t in TITLES) for types in frame["types"]],
            "sentences": frame["sentences"].fillna("").map(SENTENCES),
        }
    )
    notes = [
        _scores_note(frame),
        "Row 12 is printed as 16.96 in the paper's table and as 19.96 in its text. Row 13 lies above the paper's baseline.",
    ]
    return Table(frame, notes, pd.concat([page, _score_columns(frame)], axis=1))


def _rows(item: str, answers: pd.DataFrame, head_types: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """The rows of Table 2 or 3, in percent. unnamed: the clusters of the row that do not fit their type."""
    baseline = answers[answers["row"] == BASELINE]
    unnamed = unnamed_clusters(head_types)
    unchanged = {"row": BASELINE, "action": None, "types": None, "sentences": None, "heads": 0}
    records = [unchanged | _scores(baseline, baseline, resamples, seed) | {"unnamed": None}]
    for row in ROWS:
        row_answers = answers[answers["row"] == row.number]
        heads = head_types[head_types["cluster"].isin(row.types)]
        for sentences in row_answers["sentences"].unique() if row.item == item else ():
            facts = {"row": row.number, "action": row.action, "types": "+".join(row.types), "sentences": sentences or None}
            facts |= {"heads": len(heads)}
            facts |= _scores(row_answers[row_answers["sentences"] == sentences], baseline, resamples, seed)
            records.append(facts | {"unnamed": "+".join(kind for kind in row.types if kind in unnamed) or None})
    frame, published = pd.DataFrame(records), load_published("guan2020")
    for score in SCORES:
        # The baseline is a row of the paper's Table 2.
        papers = [printed(published, "Table 2" if row == BASELINE else item, score, row=int(row)) for row in frame["row"]]
        frame[f"paper_{score}"] = [_number(paper) for paper in papers]
    return frame


def _scores(answers: pd.DataFrame, baseline: pd.DataFrame, resamples: int, seed: int) -> dict[str, Any]:
    of_types, of_others = (answers[answers["drawn_from"] == source] for source in ("type", "others"))
    record: dict[str, Any] = {"n": len(of_types), "passages": int(of_types["passage"].nunique())}
    for score in SCORES:
        values = of_types[score].to_numpy(float)
        drops = baseline[score].to_numpy(float) - values
        low, high = passage_interval(np.stack([values, drops], axis=1), of_types["passage"].to_numpy(), resamples, seed)
        record |= {score: values.mean(), f"{score}_ci_low": low[0], f"{score}_ci_high": high[0]}
        record |= {f"{score}_drop": drops.mean(), f"{score}_drop_ci_low": low[1], f"{score}_drop_ci_high": high[1]}
        # Without a random set: NaN.
        random = baseline[score].mean() - of_others.groupby("draw")[score].mean()
        record |= {f"{score}_random_drop": random.mean(), f"{score}_random_min": random.min()}
        record |= {f"{score}_random_max": random.max()}
    return record | {"random_sets": of_others["draw"].nunique()}


def _scores_note(frame: pd.DataFrame) -> str:
    return f"n = {frame['n'].iloc[0]} questions on {frame['passages'].iloc[0]} passages. {_SCORES_NOTE}"


def _score_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Heads, scores, drops, drops of random heads and the paper's values, as the pages of Tables 2 and 3 show them."""
    columns: dict[str, list[str]] = {"heads": [str(n) for n in frame["heads"]]}
    rows = [row for _, row in frame.iterrows()]
    for score, title in zip(SCORES, ("EM", "F1"), strict=True):
        columns[title] = [_with_interval(row, score) for row in rows]
        columns[f"{title} drop"] = [_with_interval(row, f"{score}_drop") if row["row"] != BASELINE else "" for row in rows]
        columns[f"{title} random drop"] = [_random(row, score) for row in rows]
        columns[f"Paper {title}"] = ["" if pd.isna(value) else f"{value:.2f}" for value in frame[f"paper_{score}"]]
    if frame["unnamed"].notna().any():
        clusters = frame["unnamed"].fillna("").str.split("+")
        titles = [" and ".join(TITLES[name] for name in names if name) for names in clusters]
        columns["remark"] = [text and f"not {text}: the cluster assigned to this type does not fit it" for text in titles]
    return pd.DataFrame(columns)


def _random(row: pd.Series, score: str) -> str:
    mean, least, most = (row[f"{score}_random_{name}"] for name in ("drop", "min", "max"))
    if row["row"] == BASELINE or not row["heads"]:
        return ""
    number = int(row["random_sets"])
    return f"{mean:.1f} ({least:.1f} to {most:.1f}; {number} {'set' if number == 1 else 'sets'})" if number else "none"


def _with_interval(row: pd.Series, name: str) -> str:
    return f"{row[name]:.1f} ({row[f'{name}_ci_low']:.1f} to {row[f'{name}_ci_high']:.1f})"


@table(
    title="Agreement of the types of heads across options, seeds and methods",
    reads=("head_type_agreement", "head_types"),
    labels=("questions",),
)
def options(head_type_agreement: pd.DataFrame, head_types: pd.DataFrame, fits: int) -> Table:
    """Agreement of clusters when one option is changed (Guan et al. 2020, section 4). ARI: adjusted Rand index against the
    clusters as chosen (1: identical, 0: chance). Silhouette: how well they are separated (-1 to 1). Stability: mean share of
    heads in the same cluster over pairs of fits on half of the heads or of the inputs.
    """
    notes = [
        f"Features are means over {head_types['n'].iloc[0]} questions; stability is that of all pairs of {fits} fits. The "
        "paper calls 3 and 5 clusters stable too, but hard to distinguish by eye.",
        "Names: share of the attention on special tokens ([CLS], [SEP], comma, full stop), near tokens (the token and the "
        "nearest of 16 windows) and far ones; fit: by how much the shares that define the type exceed the others. "
        f"{_names(head_types)}. The names have the largest total fit of all 24 assignments; a cluster whose fit is not above 0 "
        "is unnamed.",
    ]
    names = {"ari": "ARI", "stability_heads": "Stability, halved heads", "stability_inputs": "Stability, halved inputs"}
    formats = {"clusters": "d", "heads": "d", "ari": ".3f", "silhouette": ".3f"}
    formats |= dict.fromkeys(("stability_heads", "stability_inputs"), ".1%")
    return Table(head_type_agreement, notes, names=names, formats=formats)


def _names(head_types: pd.DataFrame) -> str:
    """The clusters of heads in words: size, profile, and fit with the assigned type."""
    texts = []
    for kind in TYPES:
        cluster = head_types[head_types["cluster"] == kind]
        means = cluster[list(FEATURES)].to_numpy(float).mean(axis=0)[None]
        profile = zip(distance_types.PROFILE, distance_types.profiles(means)[0], strict=True)
        shares = ", ".join(f"{name} {share:.0%}" for name, share in profile)
        unnamed = " (unnamed)" if (cluster["type"] == UNNAMED).all() else ""
        fit = distance_types.fits(means)[0, TYPES.index(kind)]
        texts.append(f"{TITLES[kind]}{unnamed}: {len(cluster)} heads, {shares}, fit {fit:+.2f}")
    return "; ".join(texts)


@table(
    title="The paper's claims, tested on the run's model",
    reads=("answers.parquet", "head_types"),
    labels=("questions",),
    resources=("published/fixed_claims.tsv",),
    megabytes=2000,
)
def claims(answers: pd.DataFrame, head_types: pd.DataFrame, resamples: int, seed: int) -> Table:
    """What the paper says about the order of its numbers, tested on this run's model (Guan et al. 2020, sections 4 and 5).
    Drops of F1 are in percentage points, on the same questions. Whether types matter is tested by permuting all types within
    each layer, for all types together.
    """
    tested = tested_claims(drops_of(answers), permuted_drops(answers), head_types, resamples, seed)
    return claims_table(tested)


def drops_of(answers: pd.DataFrame) -> pd.DataFrame:
    """Drops of F1 from the unchanged model: a row for each question, with the number of its passage as index, and a column for
    each `Change`; of a table of `ablations.answers`.
    """
    unchanged = answers[answers["row"] == BASELINE].set_index("question")
    of_types = answers[answers["drawn_from"] == "type"]
    f1 = of_types.pivot(index="question", columns=["row", "sentences"], values="f1").loc[unchanged.index]
    return f1.rsub(unchanged["f1"], axis=0).set_index(unchanged["passage"].to_numpy())


def permuted_drops(answers: pd.DataFrame) -> Floats:
    """[type, permutation] mean drop of F1 when pruning the heads that have the type after it, in the order of `PRUNED`."""
    unchanged = answers.loc[answers["row"] == BASELINE, "f1"].mean()
    f1 = answers[answers["drawn_from"] == "permuted"].pivot_table("f1", "row", "draw").reindex(list(PRUNED.values()))
    return unchanged - f1.to_numpy(float)


def tested_claims(drops: pd.DataFrame, permuted: Floats, types: pd.DataFrame, resamples: int, seed: int) -> Iterator[Claim]:
    """Claims that follow from the order of the paper's numbers, or that its text makes; drops, permuted: of `drops_of` and
    `permuted_drops`.
    """
    pruned = {kind: (row, "") for kind, row in PRUNED.items()}
    uniform = {kind: (row, "") for kind, row in UNIFORMED.items()}
    unnamed = unnamed_clusters(types)
    of_unnamed = f" of {'the' if len(unnamed) == 1 else 'an'} unnamed cluster"
    sizes = {}
    for kind in TYPES:
        number = int((types["cluster"] == kind).sum())
        sizes[kind] = f"{number} {'head' if number == 1 else 'heads'}{of_unnamed if kind in unnamed else ''}"
    of_types = (f"{TITLES[kind]} {drops[change].mean():.1f} ({sizes[kind]})" for kind, change in pruned.items())
    shown = f"F1 drops: {'; '.join(of_types)}"

    def larger(pairs: Mapping[tuple[str, str], tuple[str, Change, Change]], statement: str, ours: str) -> Claim:
        """The claim that the first change of each pair costs more than the second; not tested for types without a cluster."""
        parts = paired_parts(drops, list(pairs.values()), resamples, seed)
        lacking = [kind for kind in unnamed if any(kind in kinds for kinds in pairs)]
        tested = [
            part if not unnamed.intersection(kinds) else replace(part, ci_low=math.nan, ci_high=math.nan)
            for kinds, part in zip(pairs, parts, strict=True)
        ]
        return all_hold(statement, ours + _lacking(lacking), tested)

    most = [(DIAGONAL, kind) for kind in TYPES if kind != DIAGONAL]
    least = [(kind, VERTICAL) for kind in TYPES if kind != VERTICAL]
    for pairs, statement in (
        (most, "Pruning Diagonal heads costs the most of the four types (Table 2, rows 2 to 5)"),
        (least, "Pruning Vertical heads costs the least (Table 2, rows 2 to 5)"),
    ):
        changes = {(a, b): (f"{TITLES[a]} - {TITLES[b]}", pruned[a], pruned[b]) for a, b in pairs}
        yield larger(changes, statement, shown)
    yield larger(
        {(kind, kind): (f"{TITLES[kind]}: substituted by 1/L - pruned", uniform[kind], pruned[kind]) for kind in TYPES},
        "Substitution by 1/L costs more than pruning, for every type (Table 2, rows 8 to 11)",
        "F1 drops, 0 and 1/L: "
        + "; ".join(
            f"{TITLES[kind]} {drops[pruned[kind]].mean():.1f} and {drops[uniform[kind]].mean():.1f} ({sizes[kind]})"
            for kind in pruned
        ),
    )
    for kind, intra, inter in ((DIAGONAL, 12, 13), (DENSE_VERTICAL, 14, 15)):
        for sentences in [sentences for row, sentences in drops.columns if row == intra]:
            within, between = (intra, sentences), (inter, sentences)
            more, less = ("within", "between") if kind == DIAGONAL else ("between", "within")
            pair = (within, between) if kind == DIAGONAL else (between, within)
            yield larger(
                {(kind, kind): (f"{more} - {less}", *pair)},
                f"{TITLES[kind]} heads matter more {more} sentences (Table 3, rows {intra} and {inter}; "
                f"{SENTENCES[sentences]})",
                f"F1 drops: within {drops[within].mean():.1f}, between {drops[between].mean():.1f}",
            )
    for kind, lower_half in ((DENSE, True), (VERTICAL, False)):
        yield _by_depth(types, kind, lower_half, resamples, seed)
    for kind, claim in zip(pruned, types_matter(drops[list(pruned.values())].mean().to_numpy(), permuted), strict=True):
        if kind in unnamed:
            claim = replace(claim, ours=claim.ours + _lacking([kind]), ci_low=math.nan, ci_high=math.nan)
        yield claim


def _lacking(kinds: Sequence[str]) -> str:
    return f"; no cluster of heads is {' or '.join(TITLES[kind] for kind in TYPES if kind in kinds)}" if kinds else ""


def paired_parts(drops: pd.DataFrame, pairs: Sequence[tuple[str, Change, Change]], resamples: int, seed: int) -> list[Claim]:
    """For each pair the difference of two drops on the same questions, with an interval by bootstrap over passages; several
    pairs have smaller tails and need as many times more resamples.
    """
    differences = np.stack([drops[first] - drops[second] for _, first, second in pairs], axis=1)
    level = level_of_parts(len(pairs))
    number = len(drops.index.unique())
    low = high = np.full(len(pairs), np.nan)
    if number >= _FEWEST_PASSAGES:
        tails = expanded_level(level, number)
        low, high = passage_interval(differences, drops.index.to_numpy(), resamples * len(pairs), seed, tails)
    return [
        Claim("", "", f"difference of F1 drops, {name}; {_PAIRED}", value, low[k], high[k], number, "passages", level=level)
        for k, ((name, _, _), value) in enumerate(zip(pairs, differences.mean(axis=0), strict=True))
    ]


def _by_depth(types: pd.DataFrame, kind: str, lower_half: bool, draws: int, seed: int) -> Claim:
    of_kind = types["type"] == kind
    lower, upper, low, high = distance_types.shares_by_half(types["layer"].to_numpy(), of_kind.to_numpy(), draws, seed, LEVEL)
    if not of_kind.any():
        low = high = math.nan
    place, other_place = ("lower", "upper") if lower_half else ("upper", "lower")
    return Claim(
        f"{TITLES[kind]} heads are mainly in the {place} half of the layers",
        f"shares: lower {lower:.0%}, upper {upper:.0%}" + _lacking([] if of_kind.any() else [kind]),
        f"difference of shares of heads, {place} - {other_place} half",
        lower - upper if lower_half else upper - lower,
        *((low, high) if lower_half else (-high, -low)),
        types["layer"].nunique(),
        "layers",
    )


def types_matter(drops: Floats, permuted: Floats) -> Iterator[Claim]:
    """For each type of `PRUNED`, the claim that its heads [type] cost more than those that have it after a permutation of all
    types within layers [type, permutation].

    If types say nothing about heads, the drops are those of one more permutation: some interval excludes 0 in at most 5 % of
    data sets, since the intervals are simultaneous. If one type costs more, so do permuted sets of the others, which have some
    of its heads. So only types that deviate to the same side as the one with the largest deviation are decided.
    """
    number, fewest = permuted.shape[1], round(1 / (1 - LEVEL)) - 1
    all_drops = np.column_stack([drops, permuted])
    # From the mean over the type and its permutations, which are treated alike, so that the test is exact.
    deviations = all_drops - all_drops.mean(axis=1, keepdims=True)
    observed, low, high = deviations[:, 0], np.full(len(drops), np.nan), np.full(len(drops), np.nan)
    if number >= fewest:
        low, high = simultaneous_interval(observed, deviations[:, 1:], LEVEL)
        opposite = observed * observed[np.abs(observed).argmax()] < 0
        low, high = np.where(opposite, np.minimum(low, 0), low), np.where(opposite, np.maximum(high, 0), high)
    scale = (number + 1) / number if number else np.nan  # to deviations from the mean over permutations alone
    for row, kind in enumerate(PRUNED):
        ours = f"F1 drop {drops[row]:.1f}; " + ("permutations: mean" if number else "no permutations")
        if number:
            ours += f" {permuted[row].mean():.1f}, {permuted[row].min():.1f} to {permuted[row].max():.1f}"
        yield Claim(
            f"The type matters, not the number and layers of its heads: pruning {TITLES[kind]} heads costs more than pruning "
            "as many heads of the same layers",
            ours if number >= fewest else f"{ours}; {fewest} are needed (setting permutations)",
            "F1 drop of the type - mean F1 drop of permutations, percentage points; interval simultaneous for all types, and "
            "to 0 or beyond if another type deviates more, to the other side",
            float(observed[row] * scale),
            float(low[row] * scale),
            float(high[row] * scale),
            number,
            "permutations of the types within layers",
        )


@table(title="Dropped examples, by reason", gathers=("shards_by_corpus",))
def dropped(shards_by_corpus: RecordsByCorpus) -> Table:
    """Number of inputs kept and dropped in each corpus of the study, by reason. Inputs on questions are windows: a passage
    that is too long for one has several for the same question. Types and features use the first window of each question.
    """
    return dropped_records(shards_by_corpus)


@table(
    title="Every published number beside this run's",
    reads=("head_types", "table1", "table2", "table3", "baselines"),
    labels=("questions",),
)
def comparison(frames: Mapping[str, pd.DataFrame], fits: int, labels: Mapping[str, RunLabel]) -> Table:
    """Every published number of Guan et al. (2020) beside this run's, with interval, whether the two can be compared and why.
    A number is compared only with the same model on the same data; the column why names inconsistencies of the paper.
    """
    head_types = frames["head_types"]
    rows = [Quantity("examples", int(head_types["n"].iloc[0])), Quantity("heads", len(head_types)), Quantity("half", 50)]
    rows += [Quantity("features", len(FEATURES)), Quantity("types", len(TYPES)), Quantity("fits", fits)]
    unnamed = unnamed_clusters(head_types)
    for kind in TYPES:
        # A type that no cluster fits has no share.
        share = None if kind in unnamed else float((head_types["type"] == kind).mean())
        rows.append(Quantity(f"share_{kind}", share, len(head_types)))
    published = load_published("guan2020")
    return value_table(compare(published, measure(published, {**frames, "quantities": quantities(rows)}, labels)))
