"""Classifiers of maps, trained on labelled maps, cross-validated over texts (Kovaleva et al. 2019, section 4.1)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True)
class PatternSettings:
    """Training of the classifiers.

    Attributes:
        size, scale: of the pictures of maps (`map_network.as_pictures`).
        epochs: of the network.
        folds: of the cross-validation over texts.
    """

    size: int
    scale: str
    epochs: int
    folds: int


@dataclass(frozen=True)
class PatternOutputs:
    """Files of `train_patterns`.

    Attributes:
        network: safetensors file.
        thresholds: JSON file.
        table: annotator, class, n, precision, recall, f1, ci_low, ci_high, kappa, with (whom the kappa is with).
        html: its page.
        labelling: page with maps that have no label yet.
    """

    network: str | Path
    thresholds: str | Path
    table: str | Path
    html: str | Path
    labelling: str | Path


def train_patterns(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer: str | Path,
    settings: PatternSettings,
    resamples: int,
    seed: int,
    line: str,
    threads: int,
    outputs: PatternOutputs,
) -> None:
    """Train the network, tune the rules, and write how well both agree with the labels and with each other.

    Args:
        model_entry: registry entry of the model whose maps were labelled.
        card_path, tokenizer: its card and tokenizer.json.
        settings: of the pictures, the training and the cross-validation.
        resamples, seed: of the bootstrap over texts; the seed is the network's as well.
        line: title of the run, for the page.
        threads: threads of the training.
        outputs: classifiers, table and pages to write.

    Raises:
        AtlasError: labels or texts cannot be used.
    """
    torch.set_num_threads(threads)
    annotated = annotated_maps(model_entry, card_path, tokenizer)
    pictures = torch.cat([as_pictures(map_[None], settings.size, settings.scale) for map_ in annotated.maps])
    numbers = np.stack([numbers_of(annotated, place) for place in range(len(annotated.maps))])
    labels, texts = annotated.labels, annotated.texts
    predicted = {NETWORK: np.zeros_like(labels), RULES: np.zeros_like(labels)}
    folds = StratifiedGroupKFold(settings.folds, shuffle=True, random_state=seed)
    for number, (train, test) in enumerate(folds.split(labels, labels, texts), start=1):
        network = train_network(pictures[train], labels[train].tolist(), settings.epochs, seed)
        predicted[NETWORK][test] = classify(network, pictures[test]).argmax(axis=1)
        predicted[RULES][test] = rule_labels(numbers[test], tuned_thresholds(numbers[train], labels[train].tolist()))
        _log.info("fold %d of %d", number, settings.folds)
    whole = train_network(pictures, labels.tolist(), settings.epochs, seed)
    with whole_file(outputs.network) as part:
        save_file({name: tensor.contiguous() for name, tensor in whole.state_dict().items()}, part)
    thresholds = tuned_thresholds(numbers, labels.tolist())
    values = {**asdict(thresholds), "size": settings.size, "scale": settings.scale}
    write_text(outputs.thresholds, json.dumps(values) + "\n")
    table = agreement(labels, texts, predicted, resamples, seed)
    write_table(table, outputs.table)
    _page(table, len(labels), len(set(texts.tolist())), settings.folds, line, outputs.html)
    write_labelling_page(_unlabelled(annotated, seed), outputs.labelling)


def _unlabelled(annotated: Annotated, seed: int) -> list[MapToLabel]:
    """Maps of the same texts without a label, drawn at random."""
    labelled = {(labelled_map.text, labelled_map.layer, labelled_map.head) for labelled_map in annotated.labelled}
    candidates = [
        (text, layer + 1, head + 1, maps[layer, head], example)
        for text, (example, maps) in annotated.whole.items()
        for layer, head in np.ndindex(maps.shape[:2])
        if (text, layer + 1, head + 1) not in labelled
    ]
    return [candidates[k] for k in np.random.default_rng(seed).permutation(len(candidates))[:_TO_LABEL]]


def numbers_of(annotated: Annotated, place: int) -> npt.NDArray[np.float32]:
    """[3] the numbers that the rules classify by, of one labelled map."""
    example = annotated.examples[place]
    special = torch.tensor([word == SPECIAL for word in example.word])
    return map_numbers(annotated.maps[place], special, torch.tensor(example.segment_ids)).numpy()


def agreement(
    labels: Labels, texts: npt.NDArray[Any], predicted: Mapping[str, Labels], resamples: int, seed: int
) -> pd.DataFrame:
    """Precision, recall and F1 of each class and their macro mean, and Cohen's kappa.

    Args:
        labels: [map] by hand.
        texts: [map] the text of each; the bootstrap draws texts.
        predicted: annotator -> [map] classes.
        resamples, seed: of the bootstrap.
    """
    groups = np.unique(texts, return_inverse=True)[1]
    present = sorted(set(labels.tolist()))
    rows: list[dict[str, Any]] = []
    for name, classes in predicted.items():
        scores = precision_recall_fscore_support(labels, classes, labels=present, zero_division=0.0)
        for place, kind in enumerate(present):
            values = {key: float(scores[k][place]) for k, key in enumerate(("precision", "recall", "f1"))}
            rows.append({"annotator": name, "class": CLASSES[kind], "n": int((labels == kind).sum())} | values)
        drawn = [_macro_f1(labels, classes, present, row[groups]) for row in _counts(int(groups.max()) + 1, resamples, seed)]
        low, high = percentile_interval(np.asarray(drawn))
        macro = float(np.mean([row["f1"] for row in rows if row["annotator"] == name]))
        interval = {"ci_low": float(low), "ci_high": float(high)}
        rows.append({"annotator": name, "class": "macro", "n": len(labels), "f1": macro} | interval)
    pairs = [(NETWORK, HAND), (RULES, HAND), (NETWORK, RULES)]
    by_name = {**predicted, HAND: labels}
    for first, second in pairs:
        kappa = float(cohen_kappa_score(by_name[first], by_name[second]))
        rows.append({"annotator": first, "class": "all", "n": len(labels), "kappa": kappa, "with": second})
    columns = ["annotator", "class", "n", "precision", "recall", "f1", "ci_low", "ci_high", "kappa", "with"]
    return pd.DataFrame(rows, columns=columns)


def _counts(groups: int, resamples: int, seed: int) -> npt.NDArray[np.float64]:
    return np.concatenate(list(resampled_counts(groups, resamples, seed)))


def _macro_f1(labels: Labels, predicted: Labels, present: list[int], weights: npt.NDArray[np.float64]) -> float:
    total = 0.0
    for kind in present:
        in_predicted, in_labels = predicted == kind, labels == kind
        both = weights[in_predicted & in_labels].sum()
        size = weights[in_predicted].sum() + weights[in_labels].sum()
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
