"""Every published number of Clark et al. (2019) beside the measured one; claims on order and thresholds for any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.run_label import RunLabel
from attention_atlas.published.compare import NO, QUALITATIVE, Measured, compare
from attention_atlas.published.matching import Quantity, measure, quantities, read_tables
from attention_atlas.published.pages import write_comparison
from attention_atlas.published.values import load_published
from attention_atlas.studies.clark2019.systems import BEST_HEAD

_BROAD_ENTROPY = 3.8
_SMALL_GRADIENT = 0.1
_OVER_75 = ("dobj", "det", "pobj", "poss")


def comparison(
    tables: Mapping[str, Any],
    labels: Mapping[str, RunLabel],
    thresholds: Mapping[str, Any],
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write comparison.tsv and its page.

    Args:
        tables: name -> file; an empty list for roles that the run does not name.
        labels: role -> model and corpus (segments, dependencies, and where the run has them coreference and probe_training).
        thresholds: of the behaviours in Figure 6: broad_entropy (nats), position and special (shares).
        out, html_out: files to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = read_tables(tables)
    segments = frames["surface_summary"].set_index("quantity")["value"]
    frames["surface_summary"]["n"] = int(segments["segments"])
    frames["quantities"] = quantities(_quantities(frames, segments, thresholds))
    best = frames["dependencies"].rename(columns={"accuracy_ci_low": "ci_low", "accuracy_ci_high": "ci_high"})
    frames["dependency_heads"] = _with_best(frames["dependency_heads"], best, "relation")
    if "coreference_heads" in frames:
        table2 = frames["table2"]
        best = table2[table2["system"] == BEST_HEAD]
        frames["coreference_heads"] = _with_best(frames["coreference_heads"], best, "mention_type")
    published = load_published("clark2019")
    measured = measure(published, frames, labels) | dict(_claims(frames, labels))
    lines = list(dict.fromkeys(label.line for label in labels.values()))
    note = (
        "A number is compared only with the same model on the same data (exact) or on data of the same making and values "
        "read off a figure (close). Numbers of a named head (Table 1, head 5-4 of Table 2) are compared with those of the head "
        "at the same place. Claims on order and thresholds are tested on any model."
    )
    frame = compare(published, measured)
    write_comparison(frame, out, html_out, "Clark et al. 2019: published values and this run", lines, note)


def _quantities(frames: Mapping[str, pd.DataFrame], segments: pd.Series, thresholds: Mapping[str, Any]) -> Iterator[Quantity]:
    for name in ("broad_entropy", "position", "special"):
        yield Quantity(f"threshold_{name}", float(thresholds[name]))
    n = int(segments["segments"])
    yield Quantity("sep_expected", 2 / float(segments["mean_tokens"]), n)
    sep = _layer_means(frames["surface"], "sep")
    if len(sep):
        first, last = _middle(len(sep))
        yield Quantity("middle_sep_lowest", 100 * float(sep[first:last].min()), n)
        yield Quantity("middle_sep_highest", 100 * float(sep[first:last].max()), n)
    for probe, gain in _root_gains(frames).items():
        yield Quantity(f"root_gain_{probe}", gain)


def _with_best(heads: pd.DataFrame, best: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Accuracies of all heads with the columns `best`, ci_low and ci_high.

    Intervals are measured for the best heads alone: those of other heads are missing.

    Args:
        heads: kind, layer, head, direction, n, correct, accuracy.
        best: kind, layer, head, direction, accuracy, ci_low, ci_high of the best head of each kind.
        kind: column of the relation or type of mention.
    """
    place = [kind, "layer", "head", "direction"]
    best = best[[*place, "accuracy", "ci_low", "ci_high"]].astype({"layer": int, "head": int})
    named = [
        f"{row.layer}-{row.head} {str(row.direction).replace('_', ' ')} {100 * row.accuracy:.1f} %" for row in best.itertuples()
    ]
    words = dict(zip(best[kind], named, strict=True))
    merged = heads.merge(best.drop(columns="accuracy"), on=place, how="left")
    return merged.assign(best=merged[kind].map(words).fillna("not measured"))


def _root_gains(frames: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Probe -> UAS with ROOT aligned correctly minus UAS as published, in percentage points."""
    if "table3" not in frames:
        return {}
    table = frames["table3"]
    scored = table[(table["decoding"] == "argmax") & (table["punctuation"] == "without")]
    uas = scored.groupby(["probe", "root_alignment"])["uas"].mean().unstack().reindex(columns=["fixed", "legacy"]).dropna()
    return {str(probe): 100 * float(gain) for probe, gain in (uas["fixed"] - uas["legacy"]).items()}


def _claims(frames: Mapping[str, pd.DataFrame], labels: Mapping[str, RunLabel]) -> Iterator[tuple[str, Measured]]:
    """Claims of the text, tested on the model of this run."""
    yield from _surface_claims(frames, labels["segments"].model)
    on_treebank = f"{labels['dependencies'].model} on {labels['dependencies'].corpus}"
    relations = frames["dependencies"].set_index("relation")
    paper_relations = [name for name in _OVER_75 if name in relations.index]
    if paper_relations:
        accuracies = [100 * float(relations.loc[name, "accuracy"]) for name in paper_relations]
        claim = f"best heads of {', '.join(paper_relations)} are right in over 75 %"
        yield "txt_75pct", _claim(accuracies, min(accuracies) > 75, on_treebank, claim)
    gains = _root_gains(frames)
    if "attention_words" in gains:
        gain = gains["attention_words"]
        yield "issue17_gain", _claim(gain, gain > 0, on_treebank, "putting ROOT in its place raises the UAS")
    if "figure3" in frames:
        yield from _gradient_claim(frames["figure3"], labels["segments"].model)


def _surface_claims(frames: Mapping[str, pd.DataFrame], model: str) -> Iterator[tuple[str, Measured]]:
    surface = frames["surface"]
    n = int(frames["surface_summary"]["n"].iloc[0])
    for identifier, measure_name, token in (("txt_prev_heads", "previous", "previous"), ("txt_next_heads", "next", "next")):
        strong_heads = surface[(surface["measure"] == measure_name) & (surface["value"] > 0.5)]
        claim = f"some heads put over half of their attention on the {token} token"
        yield identifier, _claim(strong_heads["layer"].astype(int).tolist() or "none", not strong_heads.empty, model, claim, n)
    sep, sep_sep = _layer_means(surface, "sep"), _layer_means(surface, "sep_sep")
    if len(sep):
        first, last = _middle(len(sep))
        share = float(sep[first:last].mean())
        claim = f"over half of the attention in layers {first + 1} to {last} goes to [SEP]"
        yield "txt_sep_6_10", _claim(share, share > 0.5, model, claim, n)
        highest = float(sep_sep.max())
        claim = "[SEP] puts over 90 % of its attention on [SEP] in some layer"
        yield "txt_sep_sep", _claim(highest, highest > 0.9, model, claim, n)
    entropy, maximum = (surface[surface["measure"] == name] for name in ("entropy", "row_maximum"))
    merged = entropy.merge(maximum, on=["layer", "head"], suffixes=("", "_maximum"))
    broad = merged[merged["value"] > _BROAD_ENTROPY]
    if broad.empty:
        reason = f"no head of {model} has an entropy over {_BROAD_ENTROPY} nats here"
        yield "txt_high_entropy_max", Measured(None, NO, reason)
    else:
        largest = float(broad["value_maximum"].max())
        claim = f"heads of entropy over {_BROAD_ENTROPY} put on average at most 10 % on any one token"
        yield "txt_high_entropy_max", _claim(largest, largest <= 0.1, model, claim, n)


def _gradient_claim(figure3: pd.DataFrame, model: str) -> Iterator[tuple[str, Measured]]:
    """The layer from which the gradient of attention to [SEP] is at most a tenth of its largest layer mean.

    The paper names layer 5 of 12; the claim holds where such a layer is in the first half of the model.
    """
    shown = figure3[(figure3["masking"] == "masked") & (figure3["measure"] == "per_weight") & (figure3["target"] == "sep")]
    if shown.empty:
        return
    means = shown.groupby("layer")["value"].mean()
    first = int(means.index[means > _SMALL_GRADIENT * means.max()].max()) + 1
    layers = int(means.index.max())
    claim = (
        "from some layer of the first half on, the gradient of attention to [SEP] is at most a tenth of its largest layer mean"
    )
    shown_first = first if first <= layers else "none"
    yield "txt_grad_layer", _claim(shown_first, first <= min(layers, layers / 2), model, claim, int(shown["n"].max()))


def _claim(value: Any, holds: bool, model: str, claim: str, n: int | None = None) -> Measured:
    return Measured(value, QUALITATIVE, f"claim, tested on {model}: {claim}", n=n, holds=holds)


def _layer_means(surface: pd.DataFrame, name: str) -> Any:
    """[layer] means of a measure over heads; empty where the model has no such token."""
    return surface[surface["measure"] == name].groupby("layer")["value"].mean().to_numpy()


def _middle(layers: int) -> tuple[int, int]:
    """Layers 6 to 10 of 12 as a slice, in proportion for a model of another depth."""
    return round(6 / 12 * layers) - 1, round(10 / 12 * layers)
