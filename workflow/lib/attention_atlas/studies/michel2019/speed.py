"""Table 4: inference speed with half of the heads pruned, measured alternately with the full model."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.attention.batches import model_inputs
from attention_atlas.corpora.examples import read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.masking import KINDS
from attention_atlas.methods.names import CLASSIFICATION, HEAD
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.models.pruning import prune_heads
from attention_atlas.published.values import load_published, printed
from attention_atlas.studies.michel2019.experiments import ExampleFiles

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
WHOLE, GLOBAL, EVEN, LAYERS = "whole", "importance", "even", "layers"
VARIANTS = {
    WHOLE: "full model",
    GLOBAL: "least important heads of the model",
    EVEN: "least important heads of each layer",
    LAYERS: "all heads of the least important layers",
}
COLUMNS = [
    *("variant", "batch", "heads", "examples_per_second", "sd", "speedup", "speedup_low", "speedup_high"),
    *("spread", "status", "published_examples_per_second", "published_speedup", "parameters", "megabytes", "length", "repeats"),
    *("n", "unit"),
]
STABLE, UNSTABLE = "stable", "unstable"
LARGEST_SPREAD = 10.0
"""Largest percentage by which the full model's slowest pass may exceed its fastest; above it no speedup is reported."""
KERNEL = "sdpa"
"""The attention implementation that `transformers` uses by default, not the one that returns attention weights."""


@dataclass(frozen=True)
class SpeedOptions:
    """What is timed.

    Attributes:
        definition: of importance.
        share: percent of the heads that are pruned.
        batches: batch sizes.
        repeats: timed passes over the examples.
        records: use at most this many examples.
    """

    definition: str
    share: int
    batches: Sequence[int]
    repeats: int
    records: int


def measure_speed(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: ExampleFiles,
    importance_path: str | Path,
    options: SpeedOptions,
    label: RunLabel,
    threads: int,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write examples per second of the full model and of pruned ones, columns `COLUMNS`. Times differ between runs.

    speedup: percent over the full model, geometric mean over repeats, with its interval by Student's t over repeats; empty
    where the status is unstable: the full model's slowest pass takes `spread` percent longer than its fastest one, more than
    `LARGEST_SPREAD`. sd: of the examples per second over repeats. length: mean over batches of the tokens of an example,
    padding included. Batch sizes above the number of examples are left out.

    Args:
        model_entry, card_path: the classifier.
        example_files: examples, in the order of the file.
        importance_path: head_importance.tsv.
        options: what is timed.
        label: model and corpus of the run.
        threads: threads of the passes.
        out, html_out: files to write.

    Raises:
        AtlasError: the model has no head for labels or cannot be pruned, there is no example, or no batch size is possible.
    """
    torch.set_num_threads(threads)
    device, pad = pick_device(), read_card(card_path).pad or 0
    examples = list(read_examples(example_files.paths, min(example_files.limit, options.records)))
    if not examples:
        raise AtlasError("there is nothing to time: use a limit of one or more.")
    batches, too_large = possible_batches(options.batches, len(examples))
    importance = read_table(importance_path, ["task", *HEAD, "definition", "importance", "unnormalised"])
    in_classifier = (importance["task"] == CLASSIFICATION) & (importance["definition"] == options.definition)
    head_rows = importance[in_classifier].reset_index(drop=True)
    pruned_places = {variant: places_of(variant, head_rows, options.share) for variant in VARIANTS}
    models = {variant: _pruned_model(model_entry, device, head_rows.iloc[pruned_places[variant]]) for variant in VARIANTS}
    rows, published = [], load_published("michel2019")
    for batch in batches:
        _log.info("batches of %d", batch)
        inputs = [model_inputs(models[WHOLE], examples[start : start + batch], pad) for start in range(0, len(examples), batch)]
        speeds = timed(models, inputs, len(examples), options.repeats)
        length = np.mean([batch_inputs["input_ids"].shape[1] for batch_inputs in inputs])
        whole_spread = spread(speeds[WHOLE])
        for variant, model in models.items():
            head_count = len(head_rows) - len(pruned_places[variant])
            row = {"variant": variant, "batch": batch, "heads": head_count} | speedup(speeds[variant], speeds[WHOLE])
            row |= {"spread": whole_spread, "status": STABLE if whole_spread <= LARGEST_SPREAD else UNSTABLE}
            # The paper prunes half of the heads, the least important ones of the model.
            for column in ("examples_per_second", "speedup"):
                paper = printed(published, "Table 4", column, batch=batch, variant=variant)
                in_paper = paper is not None and isinstance(paper.value, float) and (variant == WHOLE or options.share == 50)
                row[f"published_{column}"] = paper.value if paper is not None and in_paper else np.nan
            rows.append(row | _size(model) | {"length": length, "repeats": options.repeats})
    table = pd.DataFrame(rows).assign(n=len(examples), unit="examples")[COLUMNS]
    write_table(table, out)
    notes = [
        label.line,
        f"Examples per second of a classifier with {options.share} % of its heads pruned, mean of {options.repeats} "
        "passes over the examples with standard deviation; speedup in percent over the full model in the same pass, with its "
        f"interval by Student's t over passes. The models take turns, in an order that is reversed after each pass, in one run "
        f"on {_device_title(device, threads)}, attention by {KERNEL}, in {next(models[WHOLE].parameters()).dtype}; each batch "
        "is padded to its longest example, and each model has seen every shape of batch before it is timed. length: mean "
        "tokens of an example, padding included; it grows with the batch size, so that examples per second can fall although "
        "tokens per second do not.",
        f"spread: percent by which the full model's slowest pass exceeds its fastest. Above {LARGEST_SPREAD:g} % the "
        "machine was busy with other work: the row is unstable and gives no speedup. Only times change between runs. "
        "The paper's values were measured on a GTX 1080 Ti.",
        *([f"Left out: batches of {', '.join(map(str, too_large))}, which need more than n examples."] if too_large else []),
    ]
    shown = table.assign(variant=[VARIANTS[name] for name in table["variant"]])
    formats = {"batch": "d", "heads": "d", "parameters": ",d", "repeats": "d", "n": "d"} | dict.fromkeys(
        (
            "examples_per_second",
            "sd",
            "speedup",
            "speedup_low",
            "speedup_high",
            "spread",
            "published_examples_per_second",
            "published_speedup",
            "megabytes",
            "length",
        ),
        ".1f",
    )
    names = {
        "published_examples_per_second": "paper: examples per second",
        "published_speedup": "paper: speedup (%)",
        "speedup": "speedup (%)",
        "spread": "spread (%)",
        "length": "length (tokens)",
    }
    write_html_table(shown, html_out, "Michel et al. 2019, Table 4: speed of pruned models", notes, names, formats)


def _pruned_model(entry: Mapping[str, Any], device: str, pruned_heads: pd.DataFrame) -> PreTrainedModel:
    model = load_trained(entry, "labels", device)
    groups = pruned_heads.groupby(["kind", "layer"])["head"]
    prune_heads(model, {(KINDS[kind], layer - 1): [head - 1 for head in heads] for (kind, layer), heads in groups})
    model.set_attn_implementation(KERNEL)
    return model


def possible_batches(batches: Sequence[int], examples: int) -> tuple[list[int], list[int]]:
    """Batch sizes that the examples can fill, and those that they cannot.

    Raises:
        AtlasError: they fill none.
    """
    possible = [batch for batch in batches if batch <= examples]
    if not possible:
        raise AtlasError(
            f"{examples} examples fill no batch of {', '.join(map(str, batches))}: lower speed.batches, or raise speed.records."
        )
    return possible, [batch for batch in batches if batch > examples]


def spread(speeds: Floats) -> float:
    """Percent by which the slowest pass takes longer than the fastest."""
    return float(100 * (speeds.max() / speeds.min() - 1))


def speedup(speeds: Floats, baseline: Floats) -> dict[str, Any]:
    """Examples per second of a model, and its speedup in percent over the full model of the same pass.

    Args:
        speeds: [repeat] examples per second.
        baseline: [repeat] those of the full model; no speedup is computed if their spread is above `LARGEST_SPREAD`.
    """
    from scipy.stats import t

    repeats = len(speeds)
    row = {"examples_per_second": speeds.mean(), "sd": speeds.std(ddof=1) if repeats > 1 else np.nan}
    if spread(baseline) > LARGEST_SPREAD:
        return row | dict.fromkeys(("speedup", "speedup_low", "speedup_high"), np.nan)
    gains = np.log(speeds / baseline)
    reach = t.ppf(0.975, repeats - 1) * gains.std(ddof=1) / np.sqrt(repeats) if repeats > 1 else np.nan
    ends = (gains.mean(), gains.mean() - reach, gains.mean() + reach)
    return row | dict(zip(("speedup", "speedup_low", "speedup_high"), 100 * np.expm1(ends), strict=True))


def _size(model: PreTrainedModel) -> dict[str, Any]:
    weights = list(model.parameters())
    return {"parameters": sum(w.numel() for w in weights), "megabytes": sum(w.nbytes for w in weights) / 1e6}


def places_of(variant: str, importance: pd.DataFrame, share: int) -> list[int]:
    """Indices of the heads that are pruned in a variant.

    Args:
        variant: of `VARIANTS`.
        importance: one row for each head, columns `names.HEAD`, importance (scaled within layers), unnormalised.
        share: percent of heads.
    """
    count = len(importance) * share // 100
    if variant == WHOLE:
        return []
    if variant == GLOBAL:
        return sorted(importance.index[importance["importance"].argsort(kind="stable")][:count].tolist())
    groups = importance.groupby(["kind", "layer"], sort=False)
    if variant == EVEN:
        smallest = (layer["importance"].nsmallest(len(layer) * share // 100) for _, layer in groups)
        return sorted(place for values in smallest for place in values.index)
    order = groups["unnormalised"].sum().sort_values(kind="stable").index
    places: list[int] = []
    for key in order:
        layer_places = groups.indices[key].tolist()
        if len(places) + len(layer_places) > count:
            break
        places += layer_places
    return sorted(places)


@torch.inference_mode()
def timed(
    models: Mapping[str, PreTrainedModel], inputs: Sequence[Mapping[str, torch.Tensor]], examples: int, repeats: int
) -> dict[str, Floats]:
    """Model -> examples per second of each repeat; the models take turns, after each has seen every shape of input untimed.

    Every other repeat goes through the models backwards, so that a drift of the machine favours none of them.
    """
    shapes = {batch["input_ids"].shape: batch for batch in inputs}
    for model in models.values():
        for batch in shapes.values():
            model(**batch)
    speeds: dict[str, list[float]] = {name: [] for name in models}
    for repeat in range(repeats):
        for name, model in list(models.items())[:: -1 if repeat % 2 else 1]:
            _wait()
            start = time.perf_counter()
            for batch in inputs:
                model(**batch)
            _wait()
            speeds[name].append(examples / (time.perf_counter() - start))
    return {name: np.asarray(values, dtype=np.float64) for name, values in speeds.items()}


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _device_title(device: str, threads: int) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name()
    return f"a processor with {threads} thread{'s' if threads > 1 else ''}"
