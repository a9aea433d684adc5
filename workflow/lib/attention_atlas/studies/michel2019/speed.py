"""Table 4: how fast a model is with half of its heads cut out, measured beside the whole model in one run."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from attention_atlas.attention.batches import model_inputs
from attention_atlas.corpora.examples import read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.masking import KINDS
from attention_atlas.methods.names import CLASSIFICATION, HEAD
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.models.pruning import prune_heads
from attention_atlas.published.values import load_published, printed

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
WHOLE, GLOBAL, EVEN, LAYERS = "whole", "importance", "even", "layers"
VARIANTS = {
    WHOLE: "whole model",
    GLOBAL: "least important heads of the model",
    EVEN: "least important heads of each layer",
    LAYERS: "all heads of the least important layers",
}
COLUMNS = [
    *("variant", "batch", "heads", "examples_per_second", "sd", "speedup", "speedup_low", "speedup_high"),
    *("published_speedup", "parameters", "megabytes", "length", "repeats", "n"),
]
KERNEL = "sdpa"
"""The attention of transformers that users get, not the one that shows its weights."""


def measure_speed(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    importance_path: str | Path,
    definition: str,
    settings: Mapping[str, Any],
    setting: Setting,
    threads: int,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write examples a second of the whole model and of pruned ones, columns `COLUMNS`. Times differ from run to run.

    Args:
        model_entry, card_path: the classifier.
        example_files, limit: examples, in the order of the file; of these the first `settings["records"]`.
        importance_path: head_importance.tsv.
        definition: of importance.
        settings: share (percent of heads that are cut out), batches (sizes), repeats, records.
        setting: what was looked at.
        threads: threads of the passes.
        out, html_out: files to write.

    Raises:
        AtlasError: the model has no head for labels or cannot be pruned, or there is no example.
    """
    torch.set_num_threads(threads)
    device, pad = pick_device(), read_card(card_path).pad or 0
    examples = list(read_examples(example_files, min(limit, settings["records"])))
    if not examples:
        raise AtlasError("there is nothing to time: use a limit of one or more.")
    importance = read_table(importance_path, ["task", *HEAD, "definition", "importance", "unnormalised"])
    own = importance[(importance["task"] == CLASSIFICATION) & (importance["definition"] == definition)].reset_index(drop=True)
    models, kept = {}, {}
    for variant in VARIANTS:
        model = load_trained(model_entry, "labels", device)
        gone = places_of(variant, own, settings["share"])
        groups = own.iloc[gone].groupby(["kind", "layer"])["head"]
        prune_heads(model, {(KINDS[kind], layer - 1): [head - 1 for head in heads] for (kind, layer), heads in groups})
        model.set_attn_implementation(KERNEL)
        models[variant], kept[variant] = model, len(own) - len(gone)
    rows, published = [], load_published("michel2019")
    for batch in settings["batches"]:
        _log.info("batches of %d", batch)
        inputs = [model_inputs(models[WHOLE], examples[start : start + batch], pad) for start in range(0, len(examples), batch)]
        speeds = timed(models, inputs, len(examples), settings["repeats"])
        for variant, own_speeds in speeds.items():
            gain = 100 * (own_speeds / speeds[WHOLE] - 1)
            weights = list(models[variant].parameters())
            size = {"parameters": sum(own.numel() for own in weights), "megabytes": sum(own.nbytes for own in weights) / 1e6}
            speed = {"examples_per_second": own_speeds.mean(), "sd": own_speeds.std(ddof=min(1, len(own_speeds) - 1))}
            gains = {"speedup": gain.mean(), "speedup_low": gain.min(), "speedup_high": gain.max()}
            # The paper cuts half of the heads, the least important ones of the model.
            paper = printed(published, "Table 4", "speedup", batch=batch, variant=variant) if settings["share"] == 50 else None
            gains["published_speedup"] = paper.value if paper and isinstance(paper.value, float) else np.nan
            facts = {"length": np.mean([each["input_ids"].shape[1] for each in inputs]), "repeats": settings["repeats"]}
            rows.append({"variant": variant, "batch": batch, "heads": kept[variant]} | speed | gains | size | facts)
    table = pd.DataFrame(rows).assign(n=len(examples))[COLUMNS]
    write_table(table, out)
    notes = [
        setting.line,
        f"Examples a second of a classifier with {settings['share']} % of its heads cut out, mean of {settings['repeats']} "
        "passes over the examples with standard deviation; speedup in percent over the whole model of the same pass (mean, "
        f"least, most). Measured in turn in one run on {_place(device, threads)}, attention by {KERNEL}, in "
        f"{next(models[WHOLE].parameters()).dtype}, each batch padded to its longest example, one forward pass a batch after a "
        "first one that does not count. Other work on the machine shows; the times are the one thing here that a second run "
        "gives otherwise. published_speedup: of the paper, on a GTX 1080 Ti.",
    ]
    shown = table.assign(variant=[VARIANTS[name] for name in table["variant"]])
    formats = {"batch": "d", "heads": "d", "parameters": ",d", "repeats": "d", "n": "d"} | dict.fromkeys(
        ("examples_per_second", "sd", "speedup", "speedup_low", "speedup_high", "published_speedup", "megabytes", "length"),
        ".1f",
    )
    write_html_table(shown, html_out, "Michel et al. 2019, Table 4: speed with heads cut out", notes, formats=formats)


def places_of(variant: str, importance: pd.DataFrame, share: int) -> list[int]:
    """Places of the heads that a variant loses.

    Args:
        variant: of `VARIANTS`.
        importance: a row a head, columns `names.HEAD`, importance (scaled within layers), unnormalised.
        share: percent of heads.
    """
    count = len(importance) * share // 100
    if variant == WHOLE:
        return []
    if variant == GLOBAL:
        return sorted(importance.index[importance["importance"].argsort(kind="stable")][:count].tolist())
    groups = importance.groupby(["kind", "layer"], sort=False)
    if variant == EVEN:
        return sorted(place for _, own in groups for place in own["importance"].nsmallest(len(own) * share // 100).index)
    order = groups["unnormalised"].sum().sort_values(kind="stable").index
    places: list[int] = []
    for key in order:
        own = groups.indices[key].tolist()
        if len(places) + len(own) > count:
            break
        places += own
    return sorted(places)


@torch.inference_mode()
def timed(
    models: Mapping[str, PreTrainedModel], inputs: Sequence[Mapping[str, torch.Tensor]], examples: int, repeats: int
) -> dict[str, np.ndarray]:
    """Model -> examples a second of each repeat; the models take turns, after a pass that does not count."""
    for model in models.values():
        model(**inputs[0])
    speeds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(repeats):
        for name, model in models.items():
            _wait()
            start = time.perf_counter()
            for batch in inputs:
                model(**batch)
            _wait()
            speeds[name].append(examples / (time.perf_counter() - start))
    return {name: np.asarray(values) for name, values in speeds.items()}


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _place(device: str, threads: int) -> str:
    if device.startswith("cuda"):
        return torch.cuda.get_device_name()
    return f"a processor with {threads} thread{'s' if threads > 1 else ''}"
