"""Classifiers of maps: trained on labelled maps, judged by cross-validation over texts (Kovaleva et al. 2019, section 4.1)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedGroupKFold

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.errors import DamagedFile
from attention_atlas.io.files import whole_file, write_text
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.tables import write_table
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.studies.kovaleva2019.annotations import Annotated, annotated_maps
from attention_atlas.studies.kovaleva2019.labelling_page import MapToLabel, write_labelling_page
from attention_atlas.studies.kovaleva2019.map_network import MapNetwork, as_pictures, classify, train_network
from attention_atlas.studies.kovaleva2019.names import CLASS_TITLES, CLASSES, NETWORK, RULES
from attention_atlas.studies.kovaleva2019.rule_labels import Thresholds, map_numbers, rule_labels, tuned_thresholds

_log = logging.getLogger(__name__)
Labels = npt.NDArray[np.intp]
_TO_LABEL = 300
"""Maps of the labelling page."""
HAND = "hand"
"""The annotator whose labels come with the workflow."""


def train_patterns(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer: str | Path,
    settings: Mapping[str, Any],
    resamples: int,
    seed: int,
    line: str,
    threads: int,
    network_out: str | Path,
    thresholds_out: str | Path,
    out: str | Path,
    html_out: str | Path,
    labelling_out: str | Path,
) -> None:
    """Train the network, tune the rules, and write how well both agree with the labels and with each other.

    Args:
        model_entry: registry entry of the model whose maps were labelled.
        card_path, tokenizer: its card and tokenizer.json.
        settings: size, scale, epochs, folds.
        resamples, seed: of the bootstrap over texts; the seed is the network's as well.
        line: what tables say of the run.
        threads: threads of the training.
        network_out: safetensors file.
        thresholds_out: JSON file.
        out, html_out: annotator, class, n, precision, recall, f1, ci_low, ci_high, kappa, with (whom the kappa is with); page.
        labelling_out: page with maps that have no label yet.

    Raises:
        AtlasError: labels or texts cannot be used.
    """
    torch.set_num_threads(threads)
    annotated = annotated_maps(model_entry, card_path, tokenizer)
    pictures = torch.cat([as_pictures(own[None], settings["size"], settings["scale"]) for own in annotated.maps])
    numbers = np.stack([numbers_of(annotated, place) for place in range(len(annotated.maps))])
    labels, texts = annotated.labels, annotated.texts
    found = {NETWORK: np.zeros_like(labels), RULES: np.zeros_like(labels)}
    folds = StratifiedGroupKFold(settings["folds"], shuffle=True, random_state=seed)
    for number, (own, other) in enumerate(folds.split(labels, labels, texts), start=1):
        network = train_network(pictures[own], labels[own].tolist(), settings["epochs"], seed)
        found[NETWORK][other] = classify(network, pictures[other]).argmax(axis=1)
        found[RULES][other] = rule_labels(numbers[other], tuned_thresholds(numbers[own], labels[own].tolist()))
        _log.info("fold %d of %d", number, settings["folds"])
    whole = train_network(pictures, labels.tolist(), settings["epochs"], seed)
    with whole_file(network_out) as part:
        save_file({name: tensor.contiguous() for name, tensor in whole.state_dict().items()}, part)
    thresholds = tuned_thresholds(numbers, labels.tolist())
    write_text(thresholds_out, json.dumps({**asdict(thresholds), "size": settings["size"], "scale": settings["scale"]}) + "\n")
    table = agreement(labels, texts, found, resamples, seed)
    write_table(table, out)
    _page(table, len(labels), len(set(texts.tolist())), settings["folds"], line, html_out)
    write_labelling_page(_unlabelled(annotated, seed), labelling_out)


def _unlabelled(annotated: Annotated, seed: int) -> list[MapToLabel]:
    """Maps of the same texts without a label, drawn at random."""
    done = {(own.text, own.layer, own.head) for own in annotated.labelled}
    found = [
        (text, layer + 1, head + 1, maps[layer, head], example)
        for text, (example, maps) in annotated.whole.items()
        for layer, head in np.ndindex(maps.shape[:2])
        if (text, layer + 1, head + 1) not in done
    ]
    return [found[k] for k in np.random.default_rng(seed).permutation(len(found))[:_TO_LABEL]]


def numbers_of(annotated: Annotated, place: int) -> npt.NDArray[np.float32]:
    """[3] what the rules look at, of one labelled map."""
    example = annotated.examples[place]
    special = torch.tensor([word == SPECIAL for word in example.word])
    return map_numbers(annotated.maps[place], special, torch.tensor(example.segment_ids)).numpy()


def agreement(labels: Labels, texts: npt.NDArray[Any], found: Mapping[str, Labels], resamples: int, seed: int) -> pd.DataFrame:
    """Precision, recall and F1 of each class and their macro mean, and Cohen's kappa.

    Args:
        labels: [map] by hand.
        texts: [map] the text of each; the bootstrap draws texts.
        found: annotator -> [map].
        resamples, seed: of the bootstrap.
    """
    groups = np.unique(texts, return_inverse=True)[1]
    present = sorted(set(labels.tolist()))
    rows: list[dict[str, Any]] = []
    for name, own in found.items():
        scores = precision_recall_fscore_support(labels, own, labels=present, zero_division=0.0)
        for place, kind in enumerate(present):
            values = {key: float(scores[k][place]) for k, key in enumerate(("precision", "recall", "f1"))}
            rows.append({"annotator": name, "class": CLASSES[kind], "n": int((labels == kind).sum())} | values)
        drawn = [_macro_f1(labels, own, present, row[groups]) for row in _counts(int(groups.max()) + 1, resamples, seed)]
        low, high = percentile_interval(np.asarray(drawn))
        macro = float(np.mean([row["f1"] for row in rows if row["annotator"] == name]))
        ends = {"ci_low": float(low), "ci_high": float(high)}
        rows.append({"annotator": name, "class": "macro", "n": len(labels), "f1": macro} | ends)
    pairs = [(NETWORK, HAND), (RULES, HAND), (NETWORK, RULES)]
    by_name = {**found, HAND: labels}
    for one, other in pairs:
        kappa = float(cohen_kappa_score(by_name[one], by_name[other]))
        rows.append({"annotator": one, "class": "all", "n": len(labels), "kappa": kappa, "with": other})
    columns = ["annotator", "class", "n", "precision", "recall", "f1", "ci_low", "ci_high", "kappa", "with"]
    return pd.DataFrame(rows, columns=columns)


def _counts(groups: int, resamples: int, seed: int) -> npt.NDArray[np.float64]:
    return np.concatenate(list(resampled_counts(groups, resamples, seed)))


def _macro_f1(labels: Labels, found: Labels, present: list[int], weights: npt.NDArray[np.float64]) -> float:
    total = 0.0
    for kind in present:
        ours, theirs = found == kind, labels == kind
        both = weights[ours & theirs].sum()
        size = weights[ours].sum() + weights[theirs].sum()
        total += 2 * both / size if size else 0.0
    return total / len(present)


def read_patterns(network_path: str | Path, thresholds_path: str | Path) -> tuple[MapNetwork, Thresholds, int, str]:
    """The trained network, the tuned thresholds, and size and scale of its pictures.

    Raises:
        AtlasError: a file is missing or damaged.
    """
    network = MapNetwork()
    try:
        network.load_state_dict(load_file(network_path))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise DamagedFile(network_path, f"not the network of maps ({type(error).__name__})") from error
    try:
        values = json.loads(Path(thresholds_path).read_text(encoding="utf-8"))
        size, scale = int(values.pop("size")), str(values.pop("scale"))
        return network.eval(), Thresholds(**values), size, scale
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DamagedFile(thresholds_path, f"not the thresholds of the rules ({error})") from error


def _page(table: pd.DataFrame, maps: int, texts: int, folds: int, line: str, path: str | Path) -> None:
    shown = table.assign(**{"class": [CLASS_TITLES.get(name, name) for name in table["class"]]})
    notes = [
        line,
        f"{maps} maps of {texts} texts, labelled by one annotator who looked at them (the authors' labels were never released; "
        "the rubric is in workflow/resources/kovaleva2019). Both classifiers are judged on texts that they were not trained "
        f"on ({folds} folds of texts); interval of the macro F1 by bootstrap over texts. Kappa: Cohen's. The paper reports an "
        "F1 of 0.86 on its own maps and does not say whether they were held out.",
    ]
    formats = {"n": "d"}
    write_html_table(shown, path, "Kovaleva et al. 2019, section 4.1: classifiers of attention maps", notes, formats=formats)
