"""Classifiers of maps, trained on labels, cross-validated over texts, heads and layers (Kovaleva et al. 2019, section 4.1).

Maps of one head are alike in all texts, so folds of texts show how well a classifier knows the heads that it was trained on.
Folds of heads and of layers are a better test of how well it works on another model.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
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
from attention_atlas.studies.kovaleva2019.annotations import (
    Annotated,
    LabelledMap,
    annotated_maps,
    by_annotator,
    read_labels,
)
from attention_atlas.studies.kovaleva2019.generated_recall import generated_recall, recall_note
from attention_atlas.studies.kovaleva2019.labelling_page import MapToLabel, write_labelling_page
from attention_atlas.studies.kovaleva2019.map_augmentation import augmented
from attention_atlas.studies.kovaleva2019.map_network import MapNetwork, as_pictures, classify, train_network
from attention_atlas.studies.kovaleva2019.names import CLASS_TITLES, CLASSES, HEAD, HEADLINE, LAYER, NETWORK, RULES, TEXT
from attention_atlas.studies.kovaleva2019.rule_labels import Thresholds, map_numbers, rule_labels, tuned_thresholds

_log = logging.getLogger(__name__)
Labels = npt.NDArray[np.intp]
_TO_LABEL = 300
"""Number of maps on the labelling page."""
_AUGMENTED_SETS = 8
"""Largest number of sets of augmented maps that the network is trained on in turn."""
HAND = "hand"
"""The annotator whose labels come with the workflow."""
MAJORITY = "head_majority"
"""A classifier that ignores the map: the label of most maps of the same head."""
COLUMNS = [
    *("annotator", "folds", "class", "n", "precision", "recall", "f1", "ci_low", "ci_high", "kappa", "with"),
    *("least", "least_at"),
]


@dataclass(frozen=True)
class PatternSettings:
    """Training of the classifiers.

    Attributes:
        size, scale: of the pictures of maps (`map_network.as_pictures`).
        epochs: of the network.
        folds: of each cross-validation.
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
        table: annotator, folds (the held-out unit: text, head, layer; or generated maps), class, n,
            precision, recall, f1, ci_low, ci_high, kappa, with (the other annotator of the kappa), least and least_at
            (`generated_recall`).
        html: its page.
        labelling: page to label maps, those without a label or those of the first annotator.
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
        resamples, seed: of the bootstrap over texts, heads or layers; the seed is the network's as well.
        line: title of the run, for the page.
        threads: threads of the training.
        outputs: classifiers, table and pages to write.

    Raises:
        AtlasError: labels or texts cannot be used.
    """
    torch.set_num_threads(threads)
    annotated = annotated_maps(model_entry, card_path, tokenizer)
    numbers = np.stack([numbers_of(annotated, place) for place in range(len(annotated.maps))])
    labels = annotated.labels
    pictures = training_pictures(annotated, settings, seed)
    tables = []
    for kind, groups in _groups(annotated).items():
        predicted = {name: np.zeros_like(labels) for name in (NETWORK, RULES, MAJORITY)}
        folds = StratifiedGroupKFold(settings.folds, shuffle=True, random_state=seed)
        for number, (train, test) in enumerate(folds.split(labels, labels, groups), start=1):
            network = train_network([shown[train] for shown in pictures], labels[train].tolist(), settings.epochs, seed)
            predicted[NETWORK][test] = classify(network, pictures[-1][test]).argmax(axis=1)
            predicted[RULES][test] = rule_labels(numbers[test], tuned_thresholds(numbers[train], labels[train].tolist()))
            predicted[MAJORITY][test] = _majority(annotated, train, test)
            _log.info("folds by %s: %d of %d", kind, number, settings.folds)
        tables.append(agreement(labels, groups, predicted, resamples, seed).assign(folds=kind))
    whole = train_network(pictures, labels.tolist(), settings.epochs, seed)
    thresholds = tuned_thresholds(numbers, labels.tolist())
    tables.append(generated_recall(whole, thresholds, settings.size, settings.scale))
    with whole_file(outputs.network) as part:
        save_file(
            {name: tensor.contiguous() for name, tensor in whole.state_dict().items()},
            part,
        )
    values = {**asdict(thresholds), "size": settings.size, "scale": settings.scale}
    write_text(outputs.thresholds, json.dumps(values) + "\n")
    table = pd.concat([*tables, between_annotators(read_labels())], ignore_index=True)[COLUMNS]
    write_table(table, outputs.table)
    _page(table, len(labels), len(set(annotated.texts.tolist())), settings, line, outputs.html)
    write_labelling_page(_unlabelled(annotated, seed), _labelled(annotated, seed), outputs.labelling)


def training_pictures(annotated: Annotated, settings: PatternSettings, seed: int) -> list[torch.Tensor]:
    """Sets of pictures of the labelled maps to train on, one for each epoch, alternately augmented and original.

    The maps themselves are the last set.
    """
    generator = np.random.default_rng(seed)
    special = [np.asarray([word == SPECIAL for word in example.word]) for example in annotated.examples]
    labelled = [(weights.numpy(), marks) for weights, marks in zip(annotated.maps, special, strict=True)]

    def pictures(maps: Iterable[tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]]) -> torch.Tensor:
        shown = ((torch.from_numpy(weights)[None], torch.from_numpy(marks)) for weights, marks in maps)
        return torch.cat([as_pictures(weights, marks, settings.size, settings.scale) for weights, marks in shown])

    themselves = pictures(labelled)
    sets = []
    for _ in range(min(-(-settings.epochs // 4), _AUGMENTED_SETS)):
        kinds = [CLASSES[label] for label in annotated.labels]
        sets += [pictures(augmented(*map_, kind, generator) for map_, kind in zip(labelled, kinds, strict=True)), themselves]
    return sets


def _groups(annotated: Annotated) -> dict[str, npt.NDArray[Any]]:
    """[map] text, head and layer of each labelled map: the units that folds keep together."""
    heads = [f"{labelled_map.layer}-{labelled_map.head}" for labelled_map in annotated.labelled]
    layers = [labelled_map.layer for labelled_map in annotated.labelled]
    return {TEXT: annotated.texts, HEAD: np.asarray(heads), LAYER: np.asarray(layers)}


def _majority(annotated: Annotated, train: Labels, test: Labels) -> Labels:
    """[test map] the label that most training maps of its head have; over all heads where it has none."""
    heads, labels = _groups(annotated)[HEAD], annotated.labels
    overall = int(np.bincount(labels[train]).argmax())
    of_head = {head: int(np.bincount(labels[train][heads[train] == head]).argmax()) for head in set(heads[train].tolist())}
    return np.asarray([of_head.get(head, overall) for head in heads[test]], dtype=np.intp)


def _labelled(annotated: Annotated, seed: int) -> list[MapToLabel]:
    """The labelled maps, in random order, for a second annotator."""
    order = np.random.default_rng(seed).permutation(len(annotated.labelled))
    rows = ((annotated.labelled[place], annotated.maps[place].numpy(), annotated.examples[place]) for place in order)
    return [(row.text, row.layer, row.head, weights, example, row.label) for row, weights, example in rows]


def _unlabelled(annotated: Annotated, seed: int) -> list[MapToLabel]:
    """Maps of the same texts without a label, drawn at random."""
    labelled = {(labelled_map.text, labelled_map.layer, labelled_map.head) for labelled_map in annotated.labelled}
    candidates = [
        (text, layer + 1, head + 1, maps[layer, head], example, None)
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
    labels: Labels, units: npt.NDArray[Any], predicted: Mapping[str, Labels], resamples: int, seed: int
) -> pd.DataFrame:
    """Precision, recall and F1 of each class and their macro mean, and Cohen's kappa.

    Args:
        labels: [map] labels by eye.
        units: [map] the text, head or layer of each; the bootstrap draws these.
        predicted: annotator -> [map] classes.
        resamples, seed: of the bootstrap.
    """
    groups = np.unique(units, return_inverse=True)[1]
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
    pairs = [*((name, HAND) for name in predicted), (NETWORK, RULES)]
    by_name = {**predicted, HAND: labels}
    for first, second in pairs:
        kappa = float(cohen_kappa_score(by_name[first], by_name[second]))
        rows.append({"annotator": first, "class": "all", "n": len(labels), "kappa": kappa, "with": second})
    return pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "folds"])


def between_annotators(labelled_maps: Sequence[LabelledMap]) -> pd.DataFrame:
    """A row for each further annotator: Cohen's kappa with the first on the maps that both labelled; columns `COLUMNS`."""
    first, *further = ({(m.text, m.layer, m.head): m for m in maps} for maps in by_annotator(labelled_maps))
    rows = []
    for labels in further:
        common = sorted(first.keys() & labels.keys())
        kappa = (
            float(cohen_kappa_score(*([maps[place].label for place in common] for maps in (labels, first)))) if common else None
        )
        annotator, with_whom = (next(iter(maps.values())).annotator for maps in (labels, first))
        rows.append({"annotator": annotator, "class": "all", "n": len(common), "kappa": kappa, "with": with_whom})
    return pd.DataFrame(rows, columns=COLUMNS)


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


def _page(table: pd.DataFrame, maps: int, texts: int, settings: PatternSettings, line: str, path: str | Path) -> None:
    shown = table.assign(**{"class": [CLASS_TITLES.get(name, name) for name in table["class"]]})
    by_layer = table[(table["class"] == "macro") & (table["folds"] == LAYER)].set_index("annotator")["f1"]
    beaten = "beats" if by_layer[NETWORK] > by_layer[RULES] else "does not beat"
    notes = [
        line,
        f"{maps} maps of {texts} texts, labelled by eye by one annotator (the authors' labels were never released; "
        "the rubric and the annotator are described in workflow/resources/kovaleva2019). The classifiers are evaluated on "
        f"texts, heads or layers that they were not trained on ({settings.folds} folds each, the network for {settings.epochs} "
        "epochs); interval of the macro F1 by bootstrap over these. Maps of "
        "one head are alike in all texts: head_majority ignores the map and gives the most frequent label of the head. Kappa: "
        "Cohen's. The paper reports an F1 of 0.86 on its own maps and does not say whether they were held out.",
        f"On other layers the network has a macro F1 of {by_layer[NETWORK]:.2f} and {beaten} the rules "
        f"({by_layer[RULES]:.2f}). Claims and measures of heads use the classes by the {HEADLINE}.",
        recall_note(table),
    ]
    formats = {"n": "d", "least_at": "d"}
    write_html_table(shown, path, "Kovaleva et al. 2019, section 4.1: classifiers of attention maps", notes, formats=formats)
