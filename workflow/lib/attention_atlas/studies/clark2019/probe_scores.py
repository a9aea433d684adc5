"""Table 3: accuracy of the probes and of right-branching over seeds, and the differences between probes (section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.examples import Examples
from attention_atlas.io.html_tables import Table
from attention_atlas.methods.head_tables import independent_units
from attention_atlas.published.values import load_published, published_column
from attention_atlas.stats.intervals import Floats, bootstrap_ratio, percentile_interval, resampled_counts, with_seed_variation
from attention_atlas.workflow.shown import table

ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS = "attention_only", "attention_words", "distances_words"
BIAS_FREE = "bias_free_attention_words"
"""Attention and word vectors by the formula of the paper, without the bias of the published code."""
RANDOM = "random_attention_words"
RIGHT_BRANCHING = "right_branching"
KEYS = ["probe", "root_alignment"]
_PROBES = {
    RIGHT_BRANCHING: ("Right-branching: the next word", "t3_rightbranch"),
    DISTANCES_WORDS: ("Distances and word vectors", "t3_dist_glove"),
    RANDOM: ("Randomly initialised attention and word vectors", "t3_random_attn_glove"),
    ATTENTION: ("Attention only", "t3_attn"),
    ATTENTION_WORDS: ("Attention and word vectors", "t3_attn_glove"),
    BIAS_FREE: ("Attention and word vectors, formula without bias", None),
}
"""Probe -> row of the page of Table 3, and the published value."""
_COLUMNS = (
    *("probe", "root_alignment", "punctuation", "seeds", "uas", "sd", "ci_low", "ci_high"),
    *("paper_uas", "notebook_uas", "root_accuracy", "n", "unit", "units", "model", "vectors", "training"),
)


def probe_scores(
    probes: Mapping[str, pd.DataFrame], training: pd.DataFrame, examples: Examples, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Scores of the probes of the run's model, of those with random weights, and of right-branching on the evaluation treebank.

    The bootstrap is over documents, or sentences where the treebank names no documents.
    """
    model, *random_models = probes
    results = pd.concat([probes[model], *(probes[name].assign(probe=RANDOM) for name in random_models)], ignore_index=True)
    # Each seed of each random model is one draw.
    results["draw"] = results["model"] + "/" + results["seed"].astype(str)
    units = independent_units([example.document for example in examples], "sentences")
    unit_of_record = pd.Series(units.of_item, index=[example.record for example in examples])
    results["unit"] = results["record"].map(unit_of_record)
    branching = pd.DataFrame(
        {
            "record": example.record,
            # The head of the last word is itself, as in the published code.
            **correct_words(
                np.minimum(np.arange(2, len(example.words) + 2), len(example.words)),
                np.asarray(example.layers["heads"]),
                np.asarray(example.layers["relations"]) == "punct",
            ),
        }
        for example in examples
    ).assign(probe=RIGHT_BRANCHING, root_alignment="-", draw="-", model="offset +1")
    branching["unit"] = branching["record"].map(unit_of_record)
    by_probe = [branching, *(frame for _, frame in results.groupby(KEYS, sort=False))]
    scores = pd.DataFrame([row for frame in by_probe for row in _summarised(frame, resamples, seed)]).assign(unit=units.name)
    facts = training.set_index("quantity")["value"]
    in_words = (
        f"{facts['epochs']} epochs, batches of {facts['batch']}, {facts['order']} order, {facts['sentences']} sentences; "
        f"{facts['duplicates']} that are in the evaluation treebank, too, are {facts['duplicates_are']}"
    )
    scores["training"] = np.where(scores["probe"] == RIGHT_BRANCHING, "", in_words)
    scores["vectors"] = np.where(scores["probe"].str.endswith("words"), facts["vectors"], "")
    by_seed = results.groupby([*KEYS, "model", "seed"], sort=False)[["words", "right", "words_all", "right_all"]].sum()
    uas = {"uas": by_seed["right"] / by_seed["words"], "uas_with_punctuation": by_seed["right_all"] / by_seed["words_all"]}
    return {
        "scores": scores,
        "seeds": by_seed[["words"]].rename(columns={"words": "n"}).assign(**uas).reset_index(),
        "gains": root_gains(results[results["probe"] != RANDOM], resamples, seed).assign(unit=units.name),
        "leads": probe_leads(results, resamples, seed).assign(unit=units.name),
        "training": training,
    }


def correct_words(
    picked: npt.NDArray[np.integer], heads: npt.NDArray[np.integer], punctuation: npt.NDArray[np.bool_]
) -> dict[str, int]:
    """Words of a sentence and those with the right head, without punctuation and with it (_all), and of words at ROOT."""
    right, words, root = picked == heads, ~punctuation, heads == 0
    counts = {"words": words.sum(), "right": right[words].sum(), "words_all": len(right), "right_all": right.sum()}
    return {name: int(count) for name, count in (counts | {"roots": root.sum(), "right_roots": right[root].sum()}).items()}


def _summarised(frame: pd.DataFrame, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Mean over draws (seeds, models), their standard deviation, and an interval over units, without and with punctuation."""
    by_draw, by_unit = frame.groupby("draw"), frame.groupby("unit")
    roots, right_roots = frame[["roots", "right_roots"]].sum()
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
            "root_accuracy": right_roots / roots if roots else np.nan,
            "n": int(sums[words].iloc[0]),
            "units": len(of_units),
            "model": ", ".join(dict.fromkeys(frame["model"])),
        }


def root_gains(results: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """UAS with ROOT aligned minus UAS as published, for each probe with word vectors, over the same seeds."""
    counts = _by_draw_and_unit(results, "seed")
    names = [name for name, alignment in counts if alignment == "fixed"]
    pairs = {name: (counts[name, "fixed"], counts[name, "legacy"]) for name in names}
    return pd.DataFrame([{"probe": name} | _difference(pair, resamples, seed, paired=True) for name, pair in pairs.items()])


def probe_leads(results: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """UAS of the probe on attention and words minus that of every other probe of the paper's Table 3.

    Probes without word vectors have no alignment of ROOT: they are compared with both.
    """
    counts = _by_draw_and_unit(results, "draw")
    rows = []
    for alignment, over in product(("legacy", "fixed"), (DISTANCES_WORDS, RANDOM, ATTENTION)):
        second = counts.get((over, alignment), counts.get((over, "-")))
        if second is not None:
            row = {"probe": ATTENTION_WORDS, "over": over, "root_alignment": alignment}
            rows.append(row | _difference((counts[ATTENTION_WORDS, alignment], second), resamples, seed, paired=False))
    return pd.DataFrame(rows)


def _difference(probes: Sequence[Sequence[Floats]], resamples: int, seed: int, paired: bool) -> dict[str, float]:
    """Accuracy of the first of two probes (right words and words, [draw, unit]) minus that of the second, without punctuation.

    Bootstrap over units, the same for both, and the variation between draws, which two probes share if they are `paired`.
    """
    drawn = np.concatenate(list(resampled_counts(probes[0][0].shape[1], resamples, seed)))  # [resample, unit]
    over_units = [(drawn @ right.sum(axis=0) / (drawn @ words.sum(axis=0)))[:, None] for right, words in probes]
    by_draw = [(right.sum(axis=1) / words.sum(axis=1))[:, None] for right, words in probes]
    if paired:
        resampled = with_seed_variation(over_units[0] - over_units[1], by_draw[0] - by_draw[1], seed)
    else:
        varied = [with_seed_variation(*terms, seed + k) for k, terms in enumerate(zip(over_units, by_draw, strict=True))]
        resampled = varied[0] - varied[1]
    low, high = percentile_interval(resampled)
    first, second = (right.sum() / words.sum() for right, words in probes)
    words = probes[0][1]
    sizes = {"n": int(words[0].sum()), "units": words.shape[1], "seeds": len(words)}
    return {"value": first - second, "ci_low": float(low[0]), "ci_high": float(high[0]), **sizes}


def _by_draw_and_unit(results: pd.DataFrame, draw: str) -> dict[Any, list[Floats]]:
    """(probe, alignment) -> right words and all words [draw, unit], without punctuation."""
    return {
        key: [
            frame.pivot_table(index=draw, columns="unit", values=name, aggfunc="sum").to_numpy(float)
            for name in ("right", "words")
        ]
        for key, frame in results.groupby(KEYS, sort=False)
    }


@table(
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
    frame = probe_scores.assign(**papers).astype(dict.fromkeys(items, float))
    # The rows of the paper first, in its order; then the same with ROOT aligned, further rows, and those with punctuation.
    order = frame["probe"].map(list(_PROBES).index), frame["punctuation"] != "without", frame["paper_uas"].isna()
    frame = frame.iloc[np.lexsort(order)].reset_index(drop=True)
    shown = frame.set_index([*KEYS, "punctuation"])
    rows = []
    for probe, (title, identifier) in _PROBES.items():
        alignments = set(frame.loc[frame["probe"] == probe, "root_alignment"])
        if alignments:
            # Probes without word vectors have no alignment of ROOT.
            legacy, fixed = ("-", "-") if "-" in alignments else ("legacy", "fixed")
            last = fixed if fixed in alignments else legacy
            row = {"probe": title, "seeds": shown.loc[(probe, last, "without"), "seeds"]}
            row |= {name: _uas(shown, (probe, key, "without")) for name, key in (("legacy", legacy), ("fixed", fixed))}
            row |= {"with_punctuation": _uas(shown, (probe, last, "with"))}
            row |= {"root": 100 * shown.loc[(probe, last, "without"), "root_accuracy"]}
            rows.append(row | {"paper": published[identifier].value if identifier else np.nan})
    notes = [
        f"Trained on {titles['probe_training']}: {training['sentences']} sentences ({training['duplicates']} that are also in "
        f"the evaluation treebank are {training['duplicates_are']}), {training['epochs']} epochs, batches of "
        f"{training['batch']} ({training['order']} order), Adam with learning rate {training['learning_rate']}. Parameters are "
        f"initialised as in the published code, with this run's seeds. Word vectors: {training['vectors']}; "
        f"{100 * float(training['coverage']):.1f} % of the words have one.",
        "In %, with the standard deviation over seeds.",
    ]
    names = {
        **{"probe": "Probe", "seeds": "Seeds", "legacy": "ROOT as published", "fixed": "ROOT fixed"},
        **{"with_punctuation": "With punctuation", "root": "ROOT words correct %", "paper": "Paper"},
    }
    formats = {"root": ".1f", "paper": ".0f", "seeds": "d"}
    return Table(frame[list(_COLUMNS)], notes, pd.DataFrame(rows), names, formats)


def _uas(shown: pd.DataFrame, key: tuple[str, str, str]) -> str:
    if key not in shown.index:
        return ""
    row = shown.loc[key]
    return f"{100 * row['uas']:.1f}" + (f" ± {100 * row['sd']:.1f}" if pd.notna(row["sd"]) else "")
