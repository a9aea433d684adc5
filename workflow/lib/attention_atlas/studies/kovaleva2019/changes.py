"""Tables of heads: what fine-tuning changes (Figures 2, 5, 6 and 7, sections 4.4 and 4.5), from the measures of all tasks, and
attention on frame links (Figure 3). Linked words of both are compared with random pairs of tokens at the same distances.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr

from attention_atlas.attention.cache import Attention, widened, with_attention
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.marked_text import ELEMENT, TARGET
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import head_rows, mean_rows
from attention_atlas.stats.intervals import LEVEL, bootstrap_ratio, level_of_parts, resampled_counts, with_seed_variation
from attention_atlas.stats.simultaneous import largest_interval, mean_deviations, simultaneous_widths
from attention_atlas.studies.kovaleva2019 import (
    ANNOTATORS,
    CLASSES,
    FEATURES,
    FEWEST_EXAMPLES,
    HEADLINE,
    LINKS,
    MODES,
    TAGGED,
    VERB_LINKS,
)
from attention_atlas.studies.kovaleva2019.scores import disabling

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]
Pair = tuple[int, int]
"""Query and key."""
MODELS = ("base", "tuned")
"""The pre-trained and the fine-tuned model."""
MEASURED = (*FEATURES, "sep_sum")
"""The largest mean attention over the tokens with a feature; for separators their sum as well."""
OPTIONS = "task option option_a option_b mean_change largest_change rho n unit".split()
_MEAN_COLUMNS = ["value", "ci_low", "ci_high", "n", "unit", "seeds"]
_COLUMNS = {
    "classes": "task annotator class share ci_low ci_high maps n unit".split(),
    "head_classes": "task annotator layer head class maps n unit".split(),
    "cosine": ["task", "crop", "layer", "head", *_MEAN_COLUMNS],
    "special": ["task", "feature", "layer", "head", *_MEAN_COLUMNS],
    "first_row": ["task", "mode", "feature", "head", *_MEAN_COLUMNS],
    "features": "task model mode feature layer head value value_zero n unit".split(),
    "links": (
        "task model mode link layer head value value_zero control margin margin_all_low margin_all_high level n n_margin unit"
    ).split(),
    "options": OPTIONS,
}
"""crop: the compared maps, padded, real_same or real. maps: of a class, over examples and seeds. mode: tokens by their spelling
(as_published) or by their words (corrected). value_zero: over all examples, 0 without the feature or the link. control: other
pairs at the same distances. margin_all_*: interval of the margin for all heads and tasks together (level: that of one task)."""
STATISTICS = "statistic of task value ci_low ci_high level n unit".split()
"""statistic: last_layers (smallest mean cosine of an earlier layer minus the largest of the last two), change (attention to
tokens with a feature of `RAISED` after fine-tuning minus that before, mean over heads), vertical_and_heterogeneous (smaller
share of the two minus the largest of another class, mean over tasks), diagonal (share, mean over tasks; those by `HEADLINE` are
corrected for its errors on labelled maps). `of`: the compared maps, the feature, or the annotator."""
RAISED = {"mrpc": ("noun", "obj"), "rte": ("noun", "obj"), "qqp": ("noun", "obj"), "qnli": ("neg",)}
"""Task -> features to which fine-tuning raises attention in the paper."""
RAISED_PARTS = sum(map(len, RAISED.values()))

DRAWS = 20
"""Number of random sets of pairs of the control."""
PLACES = ("first_piece", "words")
"""Positions of tokens: the first token with the same spelling (published code), or the tokens of the annotated words."""
_OPTIONS = {
    "tokens of elements and target paired one by one, or all with all": ("zip", "all"),
    "direction of attention": ("fe_to_target", "target_to_fe", "both"),
    "tokens by spelling, or by word": PLACES,
}
"""Option of Figure 3 -> its choices; the order is that of the parameters of `frame_pairs`."""
FRAME_COLUMNS = (
    "layer head value ci_low ci_high control margin margin_ci_low margin_ci_high margin_all_low margin_all_high n n_margin"
).split()
"""value: mean over the n sentences of the largest weight; control: the same of other pairs of tokens at the same distance (in
n_margin sentences); margin_all_*: interval of their difference (margin) that covers all heads together."""


@dataclass(frozen=True)
class Measures:
    """Measures of the models of a task (`models.measures`), from which tables are computed without a model.

    cosine: [example, layer, head] between the maps of the two models, without padding; padded: of maps padded to one length.
    columns: [model, mode, example, feature, layer, head] largest column mean over the tokens with a feature, NaN without one;
    if the records have no tags, then sentences of a tagged corpus, for `TAGGED`. Links are of these sentences, too.
    first_row: [model, mode, example, feature, head] the same of the row of the first token in the last layer.
    classes: [annotator, example, layer, head] class of each map of the fine-tuned model.
    links: [model, mode, example, link, layer, head] largest weight over the pairs of tokens of a link; link_controls: of other
    pairs at the same distances; NaN without one.
    """

    records: npt.NDArray[np.int64]
    padded_records: npt.NDArray[np.int64]
    cosine: npt.NDArray[np.float32]
    padded: npt.NDArray[np.float32]
    columns: npt.NDArray[np.float32]
    first_row: npt.NDArray[np.float32]
    classes: npt.NDArray[np.int8]
    links: npt.NDArray[np.float32]
    link_controls: npt.NDArray[np.float32]

    def cosines(self) -> dict[str, Floats]:
        """Compared maps (padded; the same examples, and all, at their real length) -> [example, layer, head] cosines."""
        same = self.cosine[np.isin(self.records, self.padded_records)]
        return ({"padded": self.padded, "real_same": same} if len(same) else {}) | {"real": self.cosine}

    def feature(self, model: str, mode: str, feature: str, of: str = "columns") -> Floats:
        """[example, layer, head], or (of: first_row) [example, head], of the examples that the feature is measured on."""
        records = len(self.records)
        chosen = slice(records) if self.unit(feature) == "examples" else slice(records, None)
        values: Floats = getattr(self, of)[MODELS.index(model), MODES.index(mode), chosen, MEASURED.index(feature)]
        return values

    def unit(self, feature: str) -> str:
        """What the examples of a feature or link are."""
        tagged = feature in (*TAGGED, *LINKS) and self.columns.shape[2] > len(self.records)
        return "tagged sentences" if tagged else "examples"


def changes(
    measures: Mapping[str, Mapping[int, Measures]],
    disabled: Mapping[str, Mapping[int, pd.DataFrame]],
    held_out: pd.DataFrame,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Tables of the models of each task and seed: `_COLUMNS`, `STATISTICS`, and those of `scores.disabling`.

    Values are means over seeds, intervals by bootstrap over examples; a feature or link that no example has has no rows.
    """
    by_task = {task: list(by_seed.values()) for task, by_seed in measures.items()}
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in _COLUMNS}
    for task, of_seeds in by_task.items():

        def means(values: Sequence[Floats]) -> pd.DataFrame:
            return mean_rows(np.asarray(np.mean(values, axis=0)), resamples, seed)

        frames = {
            "classes": [_class_shares(of_seeds, name, resamples, seed) for name in ANNOTATORS],
            "head_classes": [_head_classes(of_seeds, *key) for key in product(ANNOTATORS, CLASSES)],
            "cosine": [means([m.cosines()[crop] for m in of_seeds]).assign(crop=crop) for crop in of_seeds[0].cosines()],
            "special": [
                means([m.feature("tuned", "as_published", name) for m in of_seeds]).assign(feature=name)
                for name in ("sep", "cls", "sep_sum")
            ],
            "first_row": [
                means([m.feature("tuned", mode, name, "first_row")[:, None] for m in of_seeds]).assign(mode=mode, feature=name)
                for name, mode in product(MEASURED, MODES)
            ],
            "features": [_feature_rows(of_seeds, *key) for key in product(MEASURED, MODELS, MODES)],
            "links": link_rows(of_seeds, resamples, seed, level_of_parts(len(measures))),
            "options": [pd.DataFrame(_options(task, of_seeds[0]))],
        }
        for name, of_task in frames.items():
            for frame in filter(len, of_task):
                named = frame.get("link", frame.get("feature"))
                unit = "examples" if named is None else named.map(of_seeds[0].unit)
                parts[name].append(frame.assign(task=task, unit=unit, seeds=len(of_seeds)))
    tables = {
        name: pd.concat(of_tasks, ignore_index=True)[_COLUMNS[name]] if of_tasks else pd.DataFrame(columns=_COLUMNS[name])
        for name, of_tasks in parts.items()
    }
    tables |= {f"disabling_{name}": table for name, table in disabling(disabled, resamples, seed).items()}
    return tables | {"statistics": statistics(by_task, held_out, resamples, seed)}


def _class_shares(of_seeds: Sequence[Measures], annotator: str, resamples: int, seed: int) -> pd.DataFrame:
    shares = _shares(of_seeds, annotator).mean(axis=0)
    low, high = bootstrap_ratio(shares, np.ones((len(shares), 1)), resamples, seed)
    columns = {"class": CLASSES, "share": [share.mean() for share in shares.T], "ci_low": low, "ci_high": high}
    maps = sum(m.classes[0].size for m in of_seeds)
    return pd.DataFrame(columns).assign(annotator=annotator, maps=maps, n=len(shares))


def _head_classes(of_seeds: Sequence[Measures], annotator: str, name: str) -> pd.DataFrame:
    of_class = [m.classes[ANNOTATORS.index(annotator)] == CLASSES.index(name) for m in of_seeds]
    facts = {"annotator": annotator, "n": len(of_seeds[0].records), "class": name}
    return head_rows(np.sum(of_class, axis=(0, 1)), "maps").assign(**facts)


def _feature_rows(of_seeds: Sequence[Measures], feature: str, model: str, mode: str) -> pd.DataFrame:
    values = np.asarray(np.mean([m.feature(model, mode, feature) for m in of_seeds], axis=0))
    present = _with_feature(values)
    if not present.any():
        return pd.DataFrame()
    zero = np.nan_to_num(values).mean(axis=0).ravel()
    facts = {"model": model, "mode": mode, "feature": feature, "n": int(present.sum())}
    return head_rows(values[present].mean(axis=0), "value").assign(value_zero=zero, **facts)


def _options(task: str, measures: Measures) -> list[dict[str, Any]]:
    """Change in the values of heads under each option, of one seed."""
    cosines = measures.cosines()
    # Feature or link, option, choices, values under each.
    options: list[tuple[str, str, tuple[str, str], Sequence[Floats]]] = []
    if "padded" in cosines:
        maps = cosines["padded"], cosines["real_same"]
        options.append(("", "Figure 5: maps padded, or of real length", ("padded", "real_same"), maps))
    sums = [measures.feature("tuned", "as_published", name) for name in ("sep", "sep_sum")]
    options.append(("sep", "Figure 6: separators", ("largest", "sum"), sums))
    spelling = "tokens by spelling, or by word"
    for feature in (*TAGGED, "neg"):
        columns = [measures.feature("tuned", mode, feature) for mode in MODES]
        first_rows = [measures.feature("tuned", mode, feature, "first_row")[:, None] for mode in MODES]
        zero = np.where(_with_feature(columns[1]).any(), np.nan_to_num(columns[1]), np.nan)
        options += [
            (feature, f"Section 4.4, {feature}: {spelling}", MODES, columns),
            (feature, f"Figure 7, {feature}: {spelling}", MODES, first_rows),
            (feature, f"Section 4.4, {feature}: examples without it", ("skip", "zero"), [columns[1], zero]),
        ]
    for link in VERB_LINKS:
        option = f"Section 4.5, {link}: pairs as in the code, or of linked words"
        options.append((link, option, MODES, list(measures.links[1, :, :, LINKS.index(link)])))
    return [
        option_row(task, option, choices, values) | {"feature": feature}
        for feature, option, choices, values in options
        if all(_with_feature(of_choice).any() for of_choice in values)
    ]


def option_row(task: str, option: str, choices: tuple[str, str], values: Sequence[Floats]) -> dict[str, Any]:
    """Change of the means of both values [example, layer, head] under a choice."""
    means = [of_choice[_with_feature(of_choice)].mean(axis=0).ravel() for of_choice in values]
    change = means[1] - means[0]
    return {
        **{"task": task, "option": option, "option_a": choices[0], "option_b": choices[1]},
        "mean_change": float(change.mean()),
        "largest_change": float(change[np.abs(change).argmax()]),
        "rho": float(spearmanr(*means).statistic),
        "n": int(_with_feature(values[0]).sum()),
    }


def _with_feature(values: Floats) -> npt.NDArray[np.bool_]:
    """[example]"""
    return ~np.isnan(values[:, 0, 0])


def link_rows(of_seeds: Sequence[Measures], resamples: int, seed: int, level: float) -> list[pd.DataFrame]:
    """A row for each head, model, mode and link that an example has."""
    frames: list[pd.DataFrame] = []
    for (model, model_name), (mode, mode_name), (link, link_name) in product(*map(enumerate, (MODELS, MODES, LINKS))):
        values: Doubles = np.mean([m.links[model, mode, :, link] for m in of_seeds], axis=0, dtype=np.float64)
        controls: Doubles = np.mean([m.link_controls[model, mode, :, link] for m in of_seeds], axis=0, dtype=np.float64)
        present = _with_feature(values)
        if present.any():
            rows = head_rows(values[present].mean(axis=0), "value").assign(model=model_name, mode=mode_name, link=link_name)
            zero = values[present].sum(axis=0).ravel() / len(values)
            margins = margin_columns(values[present], controls[present], resamples, seed, level)
            frames.append(rows.assign(value_zero=zero, level=level, n=int(present.sum()), **margins))
    return frames


def margin_columns(
    scores: Doubles, controls: Doubles, resamples: int, seed: int, level: float = LEVEL
) -> dict[str, Doubles | int]:
    """control, margin, margin_all_low, margin_all_high (an interval for all heads together) and n_margin of the units with a
    control, of scores and controls [unit, layer, head], NaN for a unit without a control.
    """
    margins = (scores - controls).reshape(len(scores), -1)
    margins = margins[~np.isnan(margins[:, 0])]
    control, margin, width = (np.full(scores[0].size, np.nan) for _ in range(3))
    if len(margins):
        control, margin = np.nanmean(controls, axis=0).ravel(), margins.mean(axis=0)
    if len(margins) >= FEWEST_EXAMPLES:
        width = simultaneous_widths(mean_deviations(margins, resamples, seed), level)
    ends = {"margin_all_low": margin - width, "margin_all_high": margin + width}
    return {"control": control, "margin": margin, **ends, "n_margin": len(margins)}


def statistics(measures: Mapping[str, Sequence[Measures]], held_out: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """`STATISTICS`, for the claims about Figures 2 and 5 and section 4.4. Intervals are over examples and, with several, seeds;
    those of a task's last layers cover all tasks together, those of features all of `RAISED`. held_out: see `corrections`.
    """
    rows: list[tuple[Any, ...]] = []

    def resampled(by_seed: Doubles, place: int = 0) -> Doubles:
        """[1 + resample, statistic] the mean of [seed, example, statistic], then resamples: NaN with too few examples."""
        mean, draws = by_seed.mean(axis=(0, 1)), np.full((resamples, by_seed.shape[2]), np.nan)
        if by_seed.shape[1] >= FEWEST_EXAMPLES:
            draws = mean_deviations(by_seed.mean(axis=0), resamples, seed + place).T
        return np.vstack([mean, mean + with_seed_variation(draws, by_seed.mean(axis=1), seed + place)])

    def add(statistic: str, of: str, task: str, values: Doubles, level: float, n: int) -> None:
        """The smallest of several statistics [1 + resample, statistic]."""
        high, low = (-end for end in largest_interval(-values[0], (values[1:] - values[0]).T, level))
        unit = measures[task][0].unit(of) if task else "examples"
        rows.append((statistic, of, task, float(values[0].min()), low, high, level, n, unit))

    for task, of_seeds in measures.items():
        for crop in of_seeds[0].cosines():
            layers: Doubles = np.mean([m.cosines()[crop] for m in of_seeds], axis=3, dtype=np.float64)
            if layers.shape[2] > 2:
                # [seed, example, pair] each earlier layer minus each of the last two.
                pairs = (layers[..., :-2, None] - layers[..., None, -2:]).reshape(*layers.shape[:2], -1)
                add("last_layers", crop, task, resampled(pairs), level_of_parts(len(measures)), pairs.shape[1])
        for feature in RAISED.get(task, ()):
            before, after = (np.stack([m.feature(model, "corrected", feature) for m in of_seeds]) for model in MODELS)
            change = (after - before).mean(axis=(2, 3), dtype=np.float64)[..., None]
            change = change[:, ~np.isnan(change[0, :, 0])]
            if change.size:
                add("change", feature, task, resampled(change), level_of_parts(RAISED_PARTS), change.shape[1])
    frequent = [CLASSES.index(name) for name in ("vertical", "heterogeneous")]
    others = [k for k in range(len(CLASSES)) if k not in frequent]
    for annotator in ANNOTATORS:
        tasks = [_shares(of_seeds, annotator) for of_seeds in measures.values()]
        n = sum(of_task.shape[1] for of_task in tasks)
        # The examples of each task are resampled separately.
        shares: Doubles = np.mean([resampled(of_task, place) for place, of_task in enumerate(tasks)], axis=0)
        if annotator == HEADLINE:
            shares = (shares[:, None] @ corrections(held_out, annotator, resamples, seed))[:, 0].clip(0, 1)
        margins = (shares[:, frequent, None] - shares[:, None, others]).reshape(len(shares), -1)
        add("vertical_and_heterogeneous", annotator, "", margins, LEVEL, n)
        add("diagonal", annotator, "", shares[:, [CLASSES.index("diagonal")]], LEVEL, n)
    return pd.DataFrame(rows, columns=STATISTICS)


def corrections(held_out: pd.DataFrame, annotator: str, resamples: int, seed: int) -> Doubles:
    """[1 + resample, class, class] matrices that turn an annotator's shares of classes into those that labels would give, from
    labelled maps with their classes on held-out layers: of all, and resampled by head, whose maps are alike.
    """
    head = held_out.groupby(["layer", "head"]).ngroup()
    counts = np.zeros((head.max() + 1, len(CLASSES), len(CLASSES)))
    np.add.at(counts, (head, held_out["label"].map(CLASSES.index), held_out[annotator].map(CLASSES.index)), 1)
    drawn = np.concatenate([np.ones((1, len(counts))), *resampled_counts(len(counts), resamples, seed)])
    confusion = np.tensordot(drawn, counts, 1)
    sizes = confusion.sum(axis=-1, keepdims=True)
    return np.linalg.pinv(np.where(sizes > 0, confusion / np.maximum(sizes, 1), np.eye(len(CLASSES))))


def _shares(of_seeds: Sequence[Measures], annotator: str) -> Doubles:
    """[seed, example, class] share of the maps of an example, over heads."""
    classes = np.stack([m.classes[ANNOTATORS.index(annotator)] for m in of_seeds])
    return np.stack([(classes == k).mean(axis=(2, 3)) for k in range(len(CLASSES))], axis=-1)


def largest_weights(maps: npt.NDArray[np.float32], pairs: Sequence[Pair]) -> Doubles:
    """[layer, head] the largest weight over pairs (query, key) of maps [layer, head, n, n]."""
    rows, columns = zip(*pairs, strict=True)
    return maps[:, :, list(rows), list(columns)].max(axis=-1).astype(np.float64)


def control_weights(
    maps: npt.NDArray[np.float32],
    pairs: Sequence[Pair],
    linked: Collection[Pair],
    example: Example,
    generator: np.random.Generator,
) -> Doubles:
    """[layer, head] the mean, over `DRAWS` random sets, of the largest weight of as many pairs of tokens at the same distances,
    neither special nor linked; NaN where a distance has no such pair.
    """
    inside = {place for place, word in enumerate(example.word) if word != SPECIAL}
    offsets = [key - query for query, key in pairs]
    queries = {k: [q for q in sorted(inside) if q + k in inside and (q, q + k) not in linked] for k in set(offsets)}
    if not all(queries.values()):
        return np.full(maps.shape[:2], np.nan)
    drawn = np.stack([generator.choice(queries[offset], DRAWS) for offset in offsets])
    return maps[:, :, drawn, drawn + np.asarray(offsets)[:, None]].max(axis=2).mean(axis=-1).astype(np.float64)


def frames(
    attention: Attention, examples: Examples, pairing: str, direction: str, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Attention of every head on frame links (`FRAME_COLUMNS`), the effect of each option (one is changed at a time), and the
    sentence of Figure 4.
    """
    chosen: tuple[str, ...] = (pairing, direction, "first_piece")
    options = [
        (name, chosen[place], choice, (*chosen[:place], choice, *chosen[place + 1 :]))
        for place, (name, choices) in enumerate(_OPTIONS.items())
        for choice in choices
        if choice != chosen[place]
    ]
    readings = [chosen, *(reading for *_, reading in options)]
    weights: list[list[Doubles]] = []
    controls: list[Doubles] = []
    for example, cached in progress(with_attention(examples, attention), label="sentences"):
        maps = widened(cached.maps)
        weights.append([largest_weights(maps, frame_pairs(example, *reading)) for reading in readings])
        generator = np.random.default_rng([seed, example.record, 0])
        linked = {pair for places in PLACES for pair in frame_pairs(example, "all", "both", places)}
        controls.append(control_weights(maps, frame_pairs(example, *chosen), linked, example, generator))
    if not controls:
        raise AtlasError("there is no sentence with a frame: all were dropped (see dropped.tsv), or `limit` is too small.")
    # [reading, sentence, layer, head], the chosen reading first.
    scores, *option_scores = np.asarray(weights).swapaxes(0, 1)
    rows = [
        option_row("frames", f"Figure 3: {name}", (first, second), (scores, changed))
        for (name, first, second, _), changed in zip(options, option_scores, strict=True)
    ]
    return {
        "heads": frame_rows(scores, np.asarray(controls), resamples, seed),
        "options": pd.DataFrame(rows).assign(unit="sentences")[OPTIONS],
        "sentence": example_sentence(examples),
    }


def frame_pairs(example: Example, pairing: str, direction: str, places: str) -> list[Pair]:
    """Pairs of tokens (query, key) between the elements and the target of a sentence.

    pairing: zip pairs the tokens of elements and target one by one and drops the rest (published code); all: each with each.
    """
    positions: dict[str, list[int]] = {ELEMENT: [], TARGET: []}
    for mention, (place, word) in product(example.mentions or (), enumerate(example.word)):
        if mention.start <= word < mention.stop:
            positions[mention.role].append(place if places == "words" else example.tokens.index(example.tokens[place]))
    elements, targets = positions.values()
    pairs = list(zip(elements, targets, strict=False) if pairing == "zip" else product(elements, targets))
    reversed_pairs = [(target, element) for element, target in pairs]
    return {"fe_to_target": pairs, "target_to_fe": reversed_pairs, "both": pairs + reversed_pairs}[direction]


def frame_rows(scores: Doubles, controls: Doubles, resamples: int, seed: int) -> pd.DataFrame:
    """The table of heads, `FRAME_COLUMNS`, of scores and controls [sentence, layer, head], NaN without a control."""
    frame = mean_rows(scores, resamples, seed).assign(**margin_columns(scores, controls, resamples, seed))
    margins = mean_rows(scores - controls, resamples, seed)[["ci_low", "ci_high"]]
    return frame.join(margins.add_prefix("margin_"))[FRAME_COLUMNS]


def example_sentence(examples: Sequence[Example]) -> pd.DataFrame:
    """Words of the first sentence of medium length, with the role of each: word, role, frame."""
    middle = float(np.median([len(example.words) for example in examples]))
    example = min(examples, key=lambda e: (abs(len(e.words) - middle), e.record))
    roles = [""] * len(example.words)
    for mention in example.mentions or ():
        roles[mention.start : mention.stop] = [mention.role] * (mention.stop - mention.start)
    frame = next((mention.cluster for mention in example.mentions or ()), "")
    return pd.DataFrame({"word": example.words, "role": roles, "frame": frame, "example": example.id})
