"""Accuracy of the probes and of baselines without attention, over seeds: the rows of Table 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.methods.head_tables import independent_units
from attention_atlas.stats.intervals import bootstrap_ratio, percentile_interval, resampled_counts
from attention_atlas.studies.clark2019.names import ATTENTION, ATTENTION_WORDS, BEST_HEAD, DISTANCES_WORDS, RANDOM

Floats = npt.NDArray[np.float64]
RecordUnits = tuple[pd.Series, str]
"""Record -> number of its document or sentence, and which of both."""
KEYS = ["probe", "root_alignment"]
_DIFFERENCE = ["value", "ci_low", "ci_high", "n", "unit", "units", "seeds"]


def probe_scores(
    probes: Mapping[str, pd.DataFrame],
    trainings: Mapping[str, pd.DataFrame],
    examples: Examples,
    dependency_heads: pd.DataFrame,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Scores of the probes of the run's model, then of those with random weights, and of baselines on the evaluation treebank.

    The bootstrap is over documents, or sentences where the treebank names no documents. Tables: scores (training: epochs, batch
    size, order and number of sentences, empty for what is not trained), seeds (a row for each), gains (`root_gains`), leads
    (`probe_leads`), and training: that of the run's model, and the epochs that the probe `RANDOM` kept.
    """
    model, *random_models = probes
    of_model = probes[model]
    results = pd.concat([of_model, *(probes[name].assign(probe=RANDOM) for name in random_models)], ignore_index=True)
    # Each seed of each random model is one draw.
    results["draw"] = results["model"] + "/" + results["seed"].astype(str)
    of_example = independent_units([example.document for example in examples], "sentences")
    units = pd.Series(of_example.of_item, index=[example.record for example in examples]), of_example.name
    by_probe = [frame for _, frame in results.groupby(KEYS, sort=False)]
    baselines, of_probes = (
        [row for frame in frames for row in _summarised(frame, units, resamples, seed)]
        for frames in (_baselines(examples), by_probe)
    )
    best_head = _best_head(dependency_heads, str(of_model["model"].iloc[0]))
    scores = pd.DataFrame([*baselines, *best_head, *of_probes]).astype({"units": "Int64"})
    training, *random = (trainings[name].set_index("quantity")["value"] for name in probes)
    summaries = dict.fromkeys(of_model["probe"].unique(), training)
    if random:
        # All are trained by one recipe on one treebank.
        summaries[RANDOM] = random[0]
        extremes = (("kept_epoch_min", min), ("kept_epoch_max", max))
        kept = {f"{RANDOM}_{end}": extreme(int(one[f"{ATTENTION_WORDS}_{end}"]) for one in random) for end, extreme in extremes}
        training = pd.concat([training, pd.Series(kept)])
    scores["training"] = [_in_words(summaries[name]) if name in summaries else "" for name in scores["probe"]]
    scores["vectors"] = np.where(scores["probe"].str.endswith("words"), training["vectors"], "")
    by_seed = results.groupby([*KEYS, "model", "seed"], sort=False)[["words", "right", "words_all", "right_all"]].sum()
    uas = {"uas": by_seed["right"] / by_seed["words"], "uas_with_punctuation": by_seed["right_all"] / by_seed["words_all"]}
    return {
        "scores": scores,
        "seeds": by_seed[["words"]].rename(columns={"words": "n"}).assign(**uas).reset_index(),
        "gains": root_gains(of_model, units, resamples, seed),
        "leads": probe_leads(results, units, resamples, seed),
        "training": training.rename_axis("quantity").rename("value").reset_index(),
    }


def _in_words(training: pd.Series) -> str:
    """How probes were trained, from the summary of a training."""
    at_most = "at most " if int(training["development_sentences"]) else ""
    return (
        f"{at_most}{training['epochs']} epochs, batches of {training['batch']}, {training['order']} order, "
        f"{training['sentences']} sentences; {training['duplicates']} that are in the evaluation treebank, too, are "
        f"{training['duplicates_are']}"
    )


def _summarised(frame: pd.DataFrame, units: RecordUnits, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Mean over draws (seeds, models), their standard deviation, and an interval over units, without and with punctuation."""
    by_draw = frame.groupby("draw")
    by_unit = frame.groupby(frame["record"].map(units[0]))
    roots = frame["roots"].sum()
    for punctuation, right, words in (("without", "right", "words"), ("with", "right_all", "words_all")):
        sums, of_units = by_draw[[right, words]].sum(), by_unit[[right, words]].sum()
        accuracies = sums[right] / sums[words]
        low, high = bootstrap_ratio(of_units[[right]].to_numpy(), of_units[[words]].to_numpy(), resamples, seed)
        yield frame.iloc[0][KEYS].to_dict() | {
            "punctuation": punctuation,
            "seeds": by_draw.ngroups,
            "uas": accuracies.mean(),
            "sd": accuracies.std(ddof=1),
            "ci_low": float(low[0]),
            "ci_high": float(high[0]),
            "root_accuracy": frame["right_roots"].sum() / roots if roots else np.nan,
            "n": int(sums[words].iloc[0]),
            "unit": units[1],
            "units": len(of_units),
            "model": ", ".join(dict.fromkeys(frame["model"])),
        }


def root_gains(results: pd.DataFrame, units: RecordUnits, resamples: int, seed: int) -> pd.DataFrame:
    """UAS with ROOT aligned minus UAS as published, for each probe with word vectors, without punctuation.

    Columns: probe, value, ci_low, ci_high (bootstrap over units and over seeds), n (words), unit, units, seeds.
    """
    counts = _by_draw_and_unit(results, "seed", units)
    rows = []
    for probe in dict.fromkeys(probe for probe, _ in counts):
        if not {(probe, "fixed"), (probe, "legacy")} <= set(counts):
            continue
        (fixed, words), (legacy, _) = counts[probe, "fixed"], counts[probe, "legacy"]
        seeds = fixed.index.intersection(legacy.index)
        gains, sizes = (fixed.loc[seeds] - legacy.loc[seeds]).to_numpy(float), words.loc[seeds].to_numpy(float)
        low, high = percentile_interval(_resampled_ratio((gains, sizes), resamples, seed, seed + 1)[:, None])
        row = {"probe": probe, "value": gains.sum() / sizes.sum(), "ci_low": float(low[0]), "ci_high": float(high[0])}
        rows.append(row | {"n": int(sizes[0].sum()), "unit": units[1], "units": gains.shape[1], "seeds": len(seeds)})
    return pd.DataFrame(rows, columns=["probe", *_DIFFERENCE])


def probe_leads(results: pd.DataFrame, units: RecordUnits, resamples: int, seed: int) -> pd.DataFrame:
    """UAS of the probe on attention and words minus that of every other probe of the paper's Table 3, without punctuation.

    Columns: probe, over, root_alignment; value; ci_low, ci_high (bootstrap over units, the same for both probes, and over the
    draws of each probe); n (words), unit, units, seeds, over_seeds (draws of both probes). Probes without word vectors have no
    alignment of ROOT: they are compared with both alignments.
    """
    counts = {
        key: tuple(wide.to_numpy(float) for wide in both) for key, both in _by_draw_and_unit(results, "draw", units).items()
    }
    rows = []
    for alignment, over in product(("legacy", "fixed"), (DISTANCES_WORDS, RANDOM, ATTENTION)):
        first = counts.get((ATTENTION_WORDS, alignment))
        second = counts.get((over, alignment), counts.get((over, "-")))
        if first is None or second is None:
            continue
        # The same units for both probes, but draws of each.
        resampled = [_resampled_ratio(probe, resamples, seed, seed + 1 + k) for k, probe in enumerate((first, second))]
        low, high = percentile_interval((resampled[0] - resampled[1])[:, None])
        lead = first[0].sum() / first[1].sum() - second[0].sum() / second[1].sum()
        row = {"probe": ATTENTION_WORDS, "over": over, "root_alignment": alignment, "value": lead}
        row |= {"ci_low": float(low[0]), "ci_high": float(high[0]), "n": int(first[1][0].sum()), "unit": units[1]}
        rows.append(row | {"units": first[0].shape[1], "seeds": len(first[0]), "over_seeds": len(second[0])})
    return pd.DataFrame(rows, columns=["probe", "over", "root_alignment", *_DIFFERENCE, "over_seeds"])


def _by_draw_and_unit(
    results: pd.DataFrame, draw: str, units: RecordUnits
) -> dict[tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]]:
    """(probe, alignment) -> right words and all words [draw, unit], without punctuation."""
    scored = results.assign(unit=results["record"].map(units[0]))
    return {
        (str(probe), str(alignment)): (
            frame.pivot_table(index=draw, columns="unit", values="right", aggfunc="sum"),
            frame.pivot_table(index=draw, columns="unit", values="words", aggfunc="sum"),
        )
        for (probe, alignment), frame in scored.groupby(KEYS, sort=False)
    }


def _resampled_ratio(terms: tuple[Floats, ...], resamples: int, seed: int, draw_seed: int) -> Floats:
    """[resample] ratio of two sums (top and bottom, [draw, unit]) over resampled units and draws, with a seed for each."""
    draws, units = terms[0].shape
    ratios = []
    by_unit, by_draw = resampled_counts(units, resamples, seed), resampled_counts(draws, resamples, draw_seed)
    for drawn, drawn_draws in zip(by_unit, by_draw, strict=True):
        top, bottom = (np.einsum("rd,du,ru->r", drawn_draws, values, drawn, optimize=True) for values in terms)
        ratios.append(top / bottom)
    return np.concatenate(ratios)


def _baselines(examples: Sequence[Example]) -> list[pd.DataFrame]:
    """Right-branching (the head of the last word is itself, as in the published code) and the best offset, by sentence."""
    by_offset = {}
    for offset in (-3, -2, -1, 1, 2, 3):
        rows = []
        for example in examples:
            picked = np.clip(np.arange(1, len(example.words) + 1) + offset, 0, len(example.words))
            punctuation = np.asarray(example.layers["relations"]) == "punct"
            rows.append({"record": example.record, **correct_words(picked, np.asarray(example.layers["heads"]), punctuation)})
        by_offset[offset] = pd.DataFrame(rows).assign(root_alignment="-", draw="-", model=f"offset {offset:+d}")
    best = max(by_offset.values(), key=lambda frame: frame["right"].sum())
    return [by_offset[1].assign(probe="right_branching"), best.assign(probe="best_offset")]


def correct_words(
    picked: npt.NDArray[np.integer], heads: npt.NDArray[np.integer], punctuation: npt.NDArray[np.bool_]
) -> dict[str, int]:
    """Words of a sentence and those with the right head, without punctuation and with it (_all), and of words at ROOT."""
    right, words, root = picked == heads, ~punctuation, heads == 0
    return {
        "words": int(words.sum()),
        "right": int(right[words].sum()),
        "words_all": len(right),
        "right_all": int(right.sum()),
        "roots": int(root.sum()),
        "right_roots": int(right[root].sum()),
    }


def _best_head(heads: pd.DataFrame, model: str) -> Iterator[dict[str, Any]]:
    """The head and direction with the best accuracy over all words, without and with punctuation; a head never picks ROOT.

    No interval: the table of heads has no counts by sentence.
    """
    correct = heads.pivot(index=["layer", "head", "direction"], columns="relation", values="correct")
    n = heads.groupby("relation")["n"].first()
    # The row All is over every token, or over the words without punctuation and root, as the run's options say.
    every = [ALL] if n[ALL] == n.drop(ALL).sum() else [ALL, "punct", "root"]
    right_of_all, n_of_all = correct.reindex(columns=every).sum(axis=1), n.reindex(every).sum()
    right_of_punctuation = correct["punct"] if "punct" in n else 0
    for punctuation, right, total in (
        ("without", right_of_all - right_of_punctuation, n_of_all - n.get("punct", 0)),
        ("with", right_of_all, n_of_all),
    ):
        layer, head, direction = right.idxmax()
        yield {
            **{"probe": BEST_HEAD, "root_alignment": "-", "punctuation": punctuation, "seeds": 1},
            **{"uas": right.max() / total, "root_accuracy": 0.0, "n": int(total)},
            "model": f"{model}, head {layer}-{head}, {direction.replace('_', ' ')}",
        }
