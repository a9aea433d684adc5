"""Table 3: accuracy of the probes and of baselines without attention, over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table, write_table
from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.methods.units import independent_units
from attention_atlas.published.values import load_published, published_column
from attention_atlas.stats.bootstrap import bootstrap_ratio, percentile_interval, resampled_counts
from attention_atlas.studies.clark2019.probes.names import (
    ATTENTION,
    ATTENTION_WORDS,
    BIAS_FREE,
    DISTANCES_WORDS,
    SHUFFLED_WORDS,
)
from attention_atlas.studies.clark2019.systems import BEST_HEAD

Floats = npt.NDArray[np.float64]
RIGHT_BRANCHING, BEST_OFFSET, RANDOM = "right_branching", "best_offset", "random_attention_words"
OFFSETS = (-3, -2, -1, 1, 2, 3)
COLUMNS = (
    *("probe", "root_alignment", "decoding", "punctuation", "seeds", "uas", "sd", "ci_low", "ci_high"),
    *("paper_uas", "notebook_uas", "root_accuracy", "n", "unit", "units", "model", "vectors", "training"),
)
LEAD_COLUMNS = ("probe", "over", "root_alignment", "value", "ci_low", "ci_high", "n", "unit", "units", "seeds", "over_seeds")
_KEYS = ["probe", "root_alignment", "decoding"]
# Row of the page -> probe, and the published value.
_ROWS = {
    RIGHT_BRANCHING: ("Right-branching: the next word", "t3_rightbranch"),
    BEST_OFFSET: ("Best fixed offset", None),
    BEST_HEAD: ("Best single attention head", None),
    DISTANCES_WORDS: ("Distances and word vectors", "t3_dist_glove"),
    RANDOM: ("Randomly initialised attention and word vectors", "t3_random_attn_glove"),
    SHUFFLED_WORDS: ("Attention and word vectors, trained on shuffled heads", None),
    ATTENTION: ("Attention only", "t3_attn"),
    ATTENTION_WORDS: ("Attention and word vectors", "t3_attn_glove"),
    BIAS_FREE: ("Attention and word vectors, formula without bias", None),
}


@dataclass(frozen=True)
class ProbeTables:
    """Tables that Table 3 is made from.

    Attributes:
        model: correct words of the probes of the run's model, sentence by sentence.
        random: the same for randomly initialised models.
        training: summary of the training on the run's model.
        random_training: the same for randomly initialised models.
        examples: the evaluation treebank, for the baselines.
        heads: accuracy of every head on every relation of the evaluation treebank (`dependency_heads.tsv`).
    """

    model: str | Path
    random: Sequence[str | Path]
    training: str | Path
    random_training: Sequence[str | Path]
    examples: Sequence[str | Path]
    heads: str | Path


def table3(
    tables: ProbeTables,
    limit: int,
    resamples: int,
    seed: int,
    label: RunLabel,
    training_title: str,
    out: str | Path,
    seeds_out: str | Path,
    gains_out: str | Path,
    leads_out: str | Path,
    html_out: str | Path,
) -> None:
    """Write Table 3: columns `COLUMNS`; one row for each seed; the gains by aligning ROOT; and the page in the paper's layout.

    The column `training` says how a probe was trained: epochs, batch size, order and number of sentences, and how many of them
    are also in the evaluation treebank; empty for what is not trained.

    Args:
        tables: the tables to read.
        limit: use at most this many records of the evaluation treebank.
        resamples, seed: of the bootstrap over documents, or sentences where the treebank names no documents.
        label: model and evaluation treebank.
        training_title: title of the training treebank.
        out, seeds_out, html_out: files to write.
        gains_out: see `root_gains`.
        leads_out: see `probe_leads`.

    Raises:
        AtlasError: a table cannot be used.
    """
    model_results = read_table(tables.model, [*_KEYS, "seed", "record", "words", "right", "model"])
    random_results = [read_table(path, [*_KEYS, "seed", "record", "words", "right", "model"]) for path in tables.random]
    random_results = [frame.assign(probe=RANDOM) for frame in random_results]
    training = read_quantities(tables.training)
    results = pd.concat([model_results, *random_results], ignore_index=True)
    # Each seed of each random model is one draw.
    results["draw"] = results["model"] + "/" + results["seed"].astype(str)
    examples = list(read_examples(tables.examples, limit))
    units = _units_of_records(examples)
    parts = [_summarised(frame, units, resamples, seed) for _, frame in results.groupby(_KEYS, sort=False)]
    baselines = [_summarised(frame, units, resamples, seed) for frame in _baselines(examples)]
    heads = read_table(tables.heads, ["relation", "layer", "head", "direction", "n", "correct"])
    best_head = _best_head(heads, str(model_results["model"].iloc[0]))
    table = pd.concat([*baselines, best_head, *parts], ignore_index=True).astype({"units": "Int64"})
    random_training = [read_quantities(path) for path in tables.random_training]
    summaries = dict.fromkeys(model_results["probe"].unique(), training)
    if random_training:
        # All are trained by one recipe on one treebank.
        summaries[RANDOM] = random_training[0]
    table["training"] = [_in_words(summaries[name]) if name in summaries else "" for name in table["probe"]]
    has_vectors = table["probe"].str.endswith("words")
    table["vectors"] = np.where(has_vectors, training["vectors"], "")
    table = in_order(with_published(table))
    write_table(table[list(COLUMNS)], out)
    by_seed = (
        results.groupby([*_KEYS, "model", "seed"], sort=False)[["words", "right", "words_all", "right_all"]].sum().reset_index()
    )
    by_seed["uas"] = by_seed["right"] / by_seed["words"]
    by_seed["uas_with_punctuation"] = by_seed["right_all"] / by_seed["words_all"]
    write_table(by_seed.drop(columns=["right", "right_all", "words_all"]).rename(columns={"words": "n"}), seeds_out)
    write_table(root_gains(model_results, units, resamples, seed), gains_out)
    write_table(probe_leads(results, units, resamples, seed), leads_out)
    _page(table, training, random_training, label, training_title, html_out)


def with_published(table: pd.DataFrame) -> pd.DataFrame:
    """The table with paper_uas and notebook_uas, shares: what the paper and the authors' notebook print of the same quantity.

    The paper has each word's best candidate, without punctuation, and ROOT aligned as in the published code.
    """
    published = load_published("clark2019")
    items = {"paper_uas": "Table 3", "notebook_uas": "notebook probe"}
    columns = {name: published_column(published, item, "table3", "mean(uas)", table) for name, item in items.items()}
    return table.assign(**columns).astype(dict.fromkeys(items, float))


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the paper's table first, in its order; then the same with ROOT aligned, further rows, and other scores."""
    order = {name: k for k, name in enumerate(_ROWS)}
    keys = pd.DataFrame(
        {
            "published": table["paper_uas"].isna(),
            "tree": table["decoding"] != "argmax",
            "punctuation": table["punctuation"] != "without",
            "probe": table["probe"].map(order),
        }
    )
    return table.loc[keys.sort_values(list(keys), kind="stable").index].reset_index(drop=True)


def _units_of_records(examples: Sequence[Example]) -> tuple[pd.Series, str]:
    """Record -> number of its document (of the sentence, where the treebank names no documents), and what they are."""
    units = independent_units([example.document for example in examples], "sentences")
    return pd.Series(units.of_item, index=[example.record for example in examples]), units.name


def _in_words(training: pd.Series) -> str:
    """How probes were trained, from the summary of a training."""
    at_most = "at most " if int(training["development_sentences"]) else ""
    return (
        f"{at_most}{training['epochs']} epochs, batches of {training['batch']}, {training['order']} order, "
        f"{training['sentences']} sentences; {training['duplicates']} that are in the evaluation treebank, too, are "
        f"{training['duplicates_are']}"
    )


def _summarised(frame: pd.DataFrame, units: tuple[pd.Series, str], resamples: int, seed: int) -> pd.DataFrame:
    """Mean over draws (seeds, models), their standard deviation, and an interval over units, with and without punctuation."""
    rows = []
    first = frame.iloc[0]
    by_draw = frame.groupby("draw")
    draws = by_draw.ngroups
    roots = frame["right_roots"].sum() / frame["roots"].sum() if frame["roots"].sum() else np.nan
    for punctuation, right, words in (("without", "right", "words"), ("with", "right_all", "words_all")):
        sums = by_draw[[right, words]].sum()
        accuracies = sums[right] / sums[words]
        by_unit = frame.groupby(frame["record"].map(units[0]))[[right, words]].sum()
        low, high = bootstrap_ratio(by_unit[[right]].to_numpy(), by_unit[[words]].to_numpy(), resamples, seed)
        rows.append(
            {name: first[name] for name in _KEYS}
            | {
                "punctuation": punctuation,
                "seeds": draws,
                "uas": accuracies.mean(),
                "sd": accuracies.std(ddof=1) if draws > 1 else np.nan,
                "ci_low": float(low[0]),
                "ci_high": float(high[0]),
                "root_accuracy": roots,
                "n": int(sums[words].iloc[0]),
                "unit": units[1],
                "units": len(by_unit),
                "model": ", ".join(dict.fromkeys(frame["model"])),
            }
        )
    return pd.DataFrame(rows)


def root_gains(results: pd.DataFrame, units: tuple[pd.Series, str], resamples: int, seed: int) -> pd.DataFrame:
    """UAS with ROOT aligned minus UAS as published, for each probe with word vectors, without punctuation.

    Columns: probe, value, ci_low, ci_high (bootstrap over units and over seeds), n (words), unit, units, seeds.
    """
    scored = results[results["decoding"] == "argmax"].assign(unit=lambda frame: frame["record"].map(units[0]))
    rows = []
    for probe, frame in scored.groupby("probe", sort=False):
        right, words = (
            frame.pivot_table(index=["root_alignment", "seed"], columns="unit", values=name, aggfunc="sum")
            for name in ("right", "words")
        )
        if not {"fixed", "legacy"} <= set(right.index.get_level_values(0)):
            continue
        seeds = right.loc["fixed"].index.intersection(right.loc["legacy"].index)
        gains = (right.loc["fixed"].loc[seeds] - right.loc["legacy"].loc[seeds]).to_numpy(float)
        sizes = words.loc["fixed"].loc[seeds].to_numpy(float)
        resampled = _resampled_ratio((gains, sizes), resamples, seed, seed + 1)
        low, high = percentile_interval(resampled[:, None])
        row = {"probe": probe, "value": gains.sum() / sizes.sum(), "ci_low": float(low[0]), "ci_high": float(high[0])}
        rows.append(row | {"n": int(sizes[0].sum()), "unit": units[1], "units": gains.shape[1], "seeds": len(seeds)})
    return pd.DataFrame(rows, columns=["probe", "value", "ci_low", "ci_high", "n", "unit", "units", "seeds"])


def probe_leads(results: pd.DataFrame, units: tuple[pd.Series, str], resamples: int, seed: int) -> pd.DataFrame:
    """UAS of the probe on attention and words minus that of every other probe of the paper's Table 3, without punctuation.

    Columns `LEAD_COLUMNS`: value; ci_low, ci_high (bootstrap over units, the same for both probes, and over the draws of each
    probe); n (words), unit, units, seeds, over_seeds (draws of both probes). Probes without word vectors have no alignment of
    ROOT: they are compared with both alignments.

    Args:
        results: columns of the probes' tables, and draw.
        units: of `_units_of_records`.
        resamples, seed: of the bootstrap.
    """
    scored = results[results["decoding"] == "argmax"].assign(unit=lambda frame: frame["record"].map(units[0]))
    wide = {
        (str(probe), str(alignment)): tuple(
            frame.pivot_table(index="draw", columns="unit", values=name, aggfunc="sum").to_numpy(float)
            for name in ("right", "words")
        )
        for (probe, alignment), frame in scored.groupby(["probe", "root_alignment"], sort=False)
    }
    rows = []
    for alignment in ("legacy", "fixed"):
        for over in (DISTANCES_WORDS, RANDOM, ATTENTION):
            first = wide.get((ATTENTION_WORDS, alignment))
            second = wide.get((over, alignment), wide.get((over, "-")))
            if first is None or second is None:
                continue
            count = first[0].shape[1]
            # The same units for both probes, but draws of each.
            resampled = [_resampled_ratio(probe, resamples, seed, seed + 1 + k) for k, probe in enumerate((first, second))]
            low, high = percentile_interval((resampled[0] - resampled[1])[:, None])
            lead = first[0].sum() / first[1].sum() - second[0].sum() / second[1].sum()
            row = {"probe": ATTENTION_WORDS, "over": over, "root_alignment": alignment, "value": lead}
            row |= {"ci_low": float(low[0]), "ci_high": float(high[0]), "n": int(first[1][0].sum()), "unit": units[1]}
            rows.append(row | {"units": count, "seeds": len(first[0]), "over_seeds": len(second[0])})
    return pd.DataFrame(rows, columns=list(LEAD_COLUMNS))


def _resampled_ratio(terms: tuple[Floats, ...], resamples: int, seed: int, draw_seed: int) -> Floats:
    """[resample] ratio of two sums over resampled units and draws.

    Args:
        terms: top and bottom of the ratio, [draw, unit] each, such as right words and all words.
        resamples: their number.
        seed, draw_seed: of the units, and of the draws.
    """
    draws, units = terms[0].shape
    ratios = []
    by_unit, by_draw = resampled_counts(units, resamples, seed), resampled_counts(draws, resamples, draw_seed)
    for drawn, drawn_draws in zip(by_unit, by_draw, strict=True):
        top, bottom = (np.einsum("rd,du,ru->r", drawn_draws, values, drawn, optimize=True) for values in terms)
        ratios.append(top / bottom)
    return np.concatenate(ratios)


def _baselines(examples: Sequence[Example]) -> list[pd.DataFrame]:
    """Right-branching (the head of the last word is itself, as in the published code) and the best offset, by sentence."""
    by_offset = {offset: pd.DataFrame([_offset_row(e, offset) for e in examples]) for offset in OFFSETS}
    best = max(OFFSETS, key=lambda offset: by_offset[offset]["right"].sum())
    frames = []
    for name, offset in ((RIGHT_BRANCHING, 1), (BEST_OFFSET, best)):
        constants = {"probe": name, "root_alignment": "-", "decoding": "argmax", "draw": "-", "seed": 0}
        frames.append(by_offset[offset].assign(**constants, model=f"offset {offset:+d}"))
    return frames


def _offset_row(example: Example, offset: int) -> dict[str, int]:
    n = len(example.words)
    heads = np.asarray(example.layers["heads"])
    picked = np.clip(np.arange(1, n + 1) + offset, 0, n)
    words = np.asarray(example.layers["relations"]) != "punct"
    right = picked == heads
    return {
        "record": example.record,
        "words": int(words.sum()),
        "right": int(right[words].sum()),
        "words_all": n,
        "right_all": int(right.sum()),
        "roots": int((heads == 0).sum()),
        "right_roots": int(right[heads == 0].sum()),
    }


def _best_head(heads: pd.DataFrame, model: str) -> pd.DataFrame:
    """The head and direction with the best accuracy over all words, without and with punctuation; a head never picks ROOT.

    No interval: the table of heads has no counts by sentence.
    """
    correct = heads.pivot(index=["layer", "head", "direction"], columns="relation", values="correct")
    n = heads.groupby("relation")["n"].first()
    # The row All is over every token, or over the words without punctuation and root, as the run's options say.
    all_is_every_token = n[ALL] == n.drop(ALL).sum()
    names = [ALL, "punct", "root"]
    correct, n = correct.reindex(columns=names, fill_value=0), n.reindex(names, fill_value=0)
    if all_is_every_token:
        correct_words, words = correct[ALL] - correct["punct"], n[ALL] - n["punct"]
    else:
        correct_words, words = correct[ALL] + correct["root"], n[ALL] + n["root"]
    rows = []
    for punctuation, right, total in (
        ("without", correct_words, words),
        ("with", correct_words + correct["punct"], words + n["punct"]),
    ):
        layer, head, direction = right.idxmax()
        rows.append(
            {
                **{"probe": BEST_HEAD, "root_alignment": "-", "decoding": "argmax", "punctuation": punctuation, "seeds": 1},
                **{"uas": right.max() / total, "sd": np.nan, "ci_low": np.nan, "ci_high": np.nan, "root_accuracy": 0.0},
                **{"n": int(total), "model": f"{model}, head {layer}-{head}, {direction.replace('_', ' ')}"},
            }
        )
    return pd.DataFrame(rows)


def _page(
    table: pd.DataFrame,
    training: pd.Series,
    random_training: Sequence[pd.Series],
    label: RunLabel,
    training_title: str,
    path: str | Path,
) -> None:
    published = load_published("clark2019")
    rows = []
    indexed = table.set_index([*_KEYS, "punctuation"])
    for probe, (title, identifier) in _ROWS.items():
        probe_rows = table[table["probe"] == probe]
        if probe_rows.empty:
            continue
        row: dict[str, object] = {"probe": title, "seeds": int(probe_rows["seeds"].iloc[0])}
        for alignment in ("legacy", "fixed"):
            key = alignment if alignment in set(probe_rows["root_alignment"]) else "-"
            row[alignment] = _cell(indexed, (probe, key, "argmax", "without"))
        last = next(name for name in ("fixed", "-", "legacy") if name in set(probe_rows["root_alignment"]))
        row["with_punctuation"] = _cell(indexed, (probe, last, "argmax", "with"))
        row["tree"] = _cell(indexed, (probe, last, "tree", "without"))
        row["epochs"] = _kept_epochs(probe, training, random_training)
        row["root"] = 100 * indexed.loc[(probe, last, "argmax", "without"), "root_accuracy"]
        row["paper"] = published[identifier].value if identifier else np.nan
        rows.append(row)
    notes = [
        label.line,
        f"Trained on {training_title}: {training['sentences']} sentences ({training['duplicates']} that are also in the "
        f"evaluation treebank are {training['duplicates_are']}), batches of {training['batch']} ({training['order']} order), "
        f"Adam with learning rate {training['learning_rate']}. Parameters are initialised as in the published code, with this "
        f"run's seeds. {_epochs_note(training)} Word vectors: {training['vectors']}; "
        f"{100 * float(training['coverage']):.1f} % of the words have one.",
        _attention_note(indexed),
        "Accuracy in %: share of words whose head is predicted correctly, without punctuation unless stated; mean and standard "
        "deviation over seeds. ROOT as published: word vectors shifted against attention by one position, an error of the "
        "published code; ROOT fixed: without this error, as in all further columns. Best tree: maximum spanning tree instead "
        "of each word's best candidate. Shuffled heads: a control trained on heads at the distances of random words of the "
        "training treebank, from which only the frequency of each distance can be learned, and evaluated on the true heads.",
    ]
    names = {
        "probe": "Probe",
        "seeds": "Seeds",
        "legacy": "ROOT as published",
        "fixed": "ROOT fixed",
        "with_punctuation": "With punctuation",
        "tree": "Best tree",
        "epochs": "Epochs",
        "root": "ROOT words correct %",
        "paper": "Paper",
    }
    frame = pd.DataFrame(rows)
    write_html_table(frame, path, "Clark et al. 2019, Table 3", notes, names, {"root": ".1f", "paper": ".0f", "seeds": "d"})


def _kept_epochs(probe: str, training: pd.Series, random_training: Sequence[pd.Series]) -> str:
    """Smallest and largest epoch kept over the seeds and alignments of a probe; empty for what is not trained."""
    summaries, name = (random_training, ATTENTION_WORDS) if probe == RANDOM else ([training], probe)
    if f"{name}_kept_epoch_min" not in training:
        return ""
    least = min(int(summary[f"{name}_kept_epoch_min"]) for summary in summaries)
    largest = max(int(summary[f"{name}_kept_epoch_max"]) for summary in summaries)
    return f"{least}" if least == largest else f"{least} to {largest}"


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
    probe, head = (indexed.loc[(name, "-", "argmax", "without")] for name in (ATTENTION, BEST_HEAD))
    probe_uas, head_uas = f"{100 * probe['uas']:.1f} %", f"{100 * head['uas']:.1f} %: {head['model']}"
    verdict = "beats the best single head" if probe["uas"] > head["uas"] else "stays below the best single head"
    note = (
        f"Attention only ({probe_uas}) {verdict} ({head_uas}; chosen on the evaluation treebank, as in Table 1, without words' "
        "attention to themselves)."
    )
    if probe["uas"] > head["uas"]:
        return note
    return f"{note} The probe weights all heads, so it must be undertrained: its row does not measure what attention encodes."


def _cell(indexed: pd.DataFrame, key: tuple[str, str, str, str]) -> str:
    if key not in indexed.index:
        return ""
    row = indexed.loc[key]
    return f"{100 * row['uas']:.1f}" + (f" ± {100 * row['sd']:.1f}" if pd.notna(row["sd"]) else "")
