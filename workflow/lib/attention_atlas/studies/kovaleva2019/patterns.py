"""Classifiers of maps, trained on labels, cross-validated over texts, heads and layers (Kovaleva et al. 2019, section 4.1).

Texts and labels come with the workflow. Maps of one head are alike in all texts, so folds of texts show how well a classifier
knows the heads that it was trained on. Folds of heads and of layers are a better test of how well it works on another model.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedGroupKFold
from transformers import PreTrainedModel

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.building import ExampleBuilder
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.glue import Labelled, labelled_example
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import RESOURCES, read_lines
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_tables import map_rows
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.loading import load_encoder
from attention_atlas.stats.intervals import percentile_interval, resampled_counts
from attention_atlas.studies.kovaleva2019.classes import (
    LENGTHS,
    Bools,
    Floats,
    Labels,
    MapNetwork,
    Thresholds,
    as_pictures,
    augmented,
    classifiers_of,
    classify,
    draw,
    load_network,
    map_numbers,
    rule_labels,
    special_tokens,
    train_network,
    tuned_thresholds,
)
from attention_atlas.studies.kovaleva2019.names import BLOCK, CLASSES, HEAD, LAYER, NETWORK, RULES, TEXT

_log = logging.getLogger(__name__)
TEXTS, LABELS = (str(RESOURCES / "kovaleva2019" / name) for name in ("annotated_texts.jsonl", "annotated_maps.csv"))
GENERATED = "generated"
"""In place of folds: maps drawn from the definition of their class."""
_AUGMENTED_SETS = 8
"""Largest number of sets of augmented maps that the network is trained on in turn."""
HAND = "hand"
"""The annotator whose labels come with the workflow."""
MAJORITY = "head_majority"
"""A classifier that ignores the map: the label of most maps of the same head."""
_MAPS = 8
"""Generated maps of each class and length."""
COLUMNS = [
    *("annotator", "folds", "class", "n", "precision", "recall", "f1", "ci_low", "ci_high", "kappa", "with"),
    *("least", "least_at"),
]
_LONGEST = (22, 28, 34, 40)
"""Limits on the tokens of an example of Figure 1, since short ones are more readable: the first with enough examples."""
_CANDIDATES, _FEWEST = 24, 8
"""Largest number of candidates for Figure 1, and the smallest where there are enough examples."""
_LOCAL = 3
"""Distance in tokens up to which attention within a segment may come from a band along the diagonal."""


def patterns(
    model: Annotated[PreTrainedModel, load_encoder],
    card: Card,
    tokenizer: Annotated[WordPieces, WordPieces],
    settings: Mapping[str, Any],
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Train the network and tune the rules, and measure how well both agree with the labels and with each other.

    Args:
        model, card, tokenizer: the model whose maps were labelled.
        settings: size and scale of the pictures of maps (`classes.as_pictures`), epochs of the network, folds of each
            cross-validation.
        resamples, seed: of the bootstrap over texts, heads or layers; the seed is the network's as well.

    Returns:
        network: name -> weights.
        thresholds: vertical, diagonal, block (of the rules), size, scale.
        table: `COLUMNS`; folds: the held-out unit (text, head, layer), or generated maps; with: the other annotator of the
            kappa; least: recall at the length least_at where it is lowest (generated maps).
    """
    labelled = labelled_maps(model, card, tokenizer)
    labels, epochs, size, scale = labelled.labels, settings["epochs"], settings["size"], settings["scale"]
    numbers = np.stack(
        [
            map_numbers(torch.from_numpy(weights), special_tokens(example), torch.tensor(example.segment_ids)).numpy()
            for weights, example in zip(labelled.maps, labelled.examples, strict=True)
        ]
    )
    pictures = training_pictures(labelled, size, scale, epochs, seed)
    heads = labelled.table["layer"].astype(str) + "-" + labelled.table["head"].astype(str)
    tables = []
    for kind, units in ((TEXT, labelled.table["text"]), (HEAD, heads), (LAYER, labelled.table["layer"])):
        predicted = {name: np.zeros_like(labels) for name in (NETWORK, RULES, MAJORITY)}
        folds = StratifiedGroupKFold(settings["folds"], shuffle=True, random_state=seed)
        for number, (train, test) in enumerate(folds.split(labels, labels, units), start=1):
            network = train_network([shown[train] for shown in pictures], labels[train].tolist(), epochs, seed)
            predicted[NETWORK][test] = classify(network, pictures[-1][test]).argmax(axis=1)
            predicted[RULES][test] = rule_labels(numbers[test], tuned_thresholds(numbers[train], labels[train].tolist()))
            predicted[MAJORITY][test] = _head_majority(labels[train], heads.iloc[train], heads.iloc[test])
            _log.info("folds by %s: %d of %d", kind, number, settings["folds"])
        tables.append(agreement(labels, units.to_numpy(), predicted, resamples, seed).assign(folds=kind))
    network, thresholds = train_network(pictures, labels.tolist(), epochs, seed), tuned_thresholds(numbers, labels.tolist())
    tables += [generated_recall(network, thresholds, size, scale), between_annotators(read_labels())]
    return {
        "network": {name: tensor.contiguous().numpy() for name, tensor in network.state_dict().items()},
        "thresholds": pd.DataFrame([{**thresholds._asdict(), "size": size, "scale": scale}]),
        "table": pd.concat(tables, ignore_index=True)[COLUMNS],
    }


@dataclass(frozen=True)
class LabelledMaps:
    """Labelled maps: of each the example, the weights [n, n], and its row of `read_labels`."""

    examples: Sequence[Example]
    maps: Sequence[Floats]
    table: pd.DataFrame

    @property
    def labels(self) -> Labels:
        return self.table["label"].to_numpy(np.intp)


def read_labels(path: str = LABELS) -> pd.DataFrame:
    """Labels: text, layer, head (from 1), label (its place in `CLASSES`), annotator.

    Raises:
        AtlasError: a missing column, an unknown class, or a map that is labelled twice by one annotator; with the line.
    """
    table = read_table(path, ["text", "layer", "head", "label", "annotator"], ",").astype({"text": str, "annotator": str})
    unknown = ~table["label"].isin(CLASSES)
    repeated = table.duplicated(["text", "layer", "head", "annotator"])
    for line, row in table[unknown | repeated].iterrows():
        place = f"{path}:{line + 2}"
        if row["label"] not in CLASSES:
            raise AtlasError(f"{place}: there is no class {row['label']!r}; the classes are {', '.join(CLASSES)}.")
        raise AtlasError(f"{place}: map {row['layer']}-{row['head']} of text {row['text']} is labelled twice.")
    return table.assign(label=table["label"].map(CLASSES.index))


def by_annotator(labels: pd.DataFrame) -> list[pd.DataFrame]:
    """The labels of each annotator, starting with the one with the most labels; the classifiers learn from these."""
    return [labels[labels["annotator"] == name] for name, _ in Counter(labels["annotator"]).most_common()]


def labelled_maps(
    model: PreTrainedModel, card: ModelCard, tokenizer: WordPieces, texts: str = TEXTS, labels: str = LABELS
) -> LabelledMaps:
    """The labelled maps, computed by the model whose maps were labelled.

    Raises:
        AtlasError: a file cannot be read, or a label names an unknown text, layer or head.
    """
    examples: dict[str, Example] = {}
    builder = ExampleBuilder({"overlong": "drop"}, texts, tokenizer, card.max_tokens)
    for number, (line, text) in enumerate(read_lines(texts)):
        try:
            entry = json.loads(text)
            item = Labelled(entry["id"], tuple(entry["texts"]), "")
        except (ValueError, KeyError, TypeError) as error:
            raise AtlasError(f"{texts}:{line}: expected an object with id and texts ({error}).") from error
        example = labelled_example(builder, item)
        if not isinstance(example, Example):
            raise AtlasError(f"{texts}:{line}: this text cannot be labelled: {example.reason}, {example.detail}.")
        examples[example.id] = replace(example, record=number)
    table = by_annotator(read_labels(labels))[0]
    for row in table.itertuples():
        if row.text not in examples or not (1 <= row.layer <= card.layers and 1 <= row.head <= card.heads):
            raise AtlasError(
                f"{labels}: there is no map {row.layer}-{row.head} of text {row.text} in {card.name} "
                f"({card.layers} layers of {card.heads} heads): label maps of this model, or set patterns.model."
            )
    maps = attention_maps(model, list(examples.values()), card.pad or 0)
    labelled_examples = [examples[text] for text in table["text"]]
    places = zip(labelled_examples, table["layer"] - 1, table["head"] - 1, strict=True)
    weights = [maps[example.record][layer, head].astype(np.float32) for example, layer, head in places]
    return LabelledMaps(labelled_examples, weights, table)


def training_pictures(labelled: LabelledMaps, size: int, scale: str, epochs: int, seed: int) -> list[torch.Tensor]:
    """Sets of pictures of the labelled maps to train on, one for each epoch, alternately augmented and original.

    The maps themselves are the last set.
    """
    generator = np.random.default_rng(seed)

    def pictures(maps: Iterable[tuple[Floats, Bools]]) -> torch.Tensor:
        shown = [as_pictures(torch.from_numpy(map_)[None], torch.from_numpy(special), size, scale) for map_, special in maps]
        return torch.cat(shown)

    specials = [special_tokens(example).numpy() for example in labelled.examples]
    originals = list(zip(labelled.maps, specials, strict=True))
    themselves = pictures(originals)
    kinds = [CLASSES[label] for label in labelled.labels]
    sets = []
    for _ in range(min(-(-epochs // 4), _AUGMENTED_SETS)):
        sets += [pictures(augmented(*map_, kind, generator) for map_, kind in zip(originals, kinds, strict=True)), themselves]
    return sets


def _head_majority(labels: Labels, heads: pd.Series, tested: pd.Series) -> Labels:
    """[tested map] the label that most training maps of its head have; over all heads where it has none."""
    of_head = pd.Series(labels).groupby(heads.to_numpy()).agg(lambda values: np.bincount(values).argmax())
    return tested.map(of_head).fillna(np.bincount(labels).argmax()).to_numpy(np.intp)


def agreement(
    labels: Labels, units: npt.NDArray[Any], predicted: Mapping[str, Labels], resamples: int, seed: int
) -> pd.DataFrame:
    """Precision, recall and F1 of each class and their macro mean, and Cohen's kappa.

    Args:
        labels, predicted: [map] labels by eye; annotator -> [map] classes.
        units: [map] the text, head or layer of each; the bootstrap draws these.
        resamples, seed: of the bootstrap.
    """
    groups = np.unique(units, return_inverse=True)[1]
    present = sorted(set(labels.tolist()))
    counts = np.concatenate(list(resampled_counts(int(groups.max()) + 1, resamples, seed)))
    rows: list[dict[str, Any]] = []
    for name, classes in predicted.items():
        precision, recall, f1, n = precision_recall_fscore_support(labels, classes, labels=present, zero_division=0.0)
        by_class = {"class": [CLASSES[kind] for kind in present], "n": n, "precision": precision, "recall": recall, "f1": f1}
        rows += pd.DataFrame(by_class).assign(annotator=name).to_dict("records")
        low, high = percentile_interval(np.asarray([_macro_f1(labels, classes, present, row[groups]) for row in counts]))
        macro = {"class": "macro", "n": len(labels), "f1": float(np.mean(f1)), "ci_low": float(low), "ci_high": float(high)}
        rows.append({"annotator": name, **macro})
    by_name = {**predicted, HAND: labels}
    for first, second in [*((name, HAND) for name in predicted), (NETWORK, RULES)]:
        kappa = float(cohen_kappa_score(by_name[first], by_name[second]))
        rows.append({"annotator": first, "class": "all", "n": len(labels), "kappa": kappa, "with": second})
    return pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "folds"])


def _macro_f1(labels: Labels, predicted: Labels, present: list[int], weights: npt.NDArray[np.float64]) -> float:
    total = 0.0
    for kind in present:
        in_predicted, in_labels = predicted == kind, labels == kind
        both = weights[in_predicted & in_labels].sum()
        size = weights[in_predicted].sum() + weights[in_labels].sum()
        total += 2 * both / size if size else 0.0
    return total / len(present)


def between_annotators(labels: pd.DataFrame) -> pd.DataFrame:
    """A row for each further annotator: Cohen's kappa with the first on the maps that both labelled; columns `COLUMNS`."""
    first, *further = by_annotator(labels)
    rows = []
    for second in further:
        both = second.merge(first, on=["text", "layer", "head"], suffixes=("", "_first"))
        kappa = float(cohen_kappa_score(both["label"], both["label_first"])) if len(both) else None
        names = {"annotator": second["annotator"].iloc[0], "with": first["annotator"].iloc[0]}
        rows.append({**names, "class": "all", "n": len(both), "kappa": kappa})
    return pd.DataFrame(rows, columns=COLUMNS)


def generated_recall(network: MapNetwork, thresholds: Thresholds, size: int, scale: str) -> pd.DataFrame:
    """Recall of each classifier, trained on all labelled maps, and class among generated maps, over all `LENGTHS`; columns of
    `patterns`.
    """
    right = {name: np.zeros((len(CLASSES), len(LENGTHS))) for name in (NETWORK, RULES)}
    for place, kind in enumerate(CLASSES):
        for column, length in enumerate(LENGTHS):
            maps = [draw(kind, length, np.random.default_rng([length, place, number])) for number in range(_MAPS)]
            pictures = torch.cat([map_.picture(size, scale) for map_ in maps])
            right[NETWORK][place, column] = (classify(network, pictures).argmax(axis=1) == place).mean()
            numbers = np.stack([map_.numbers() for map_ in maps])
            right[RULES][place, column] = (rule_labels(numbers, thresholds) == place).mean()
    lengths = np.asarray(LENGTHS)
    tables = []
    for name, shares in right.items():
        recall = {"recall": shares.mean(axis=1), "least": shares.min(axis=1), "least_at": lengths[shares.argmin(axis=1)]}
        table = pd.DataFrame({"class": CLASSES, **recall})
        tables.append(table.assign(annotator=name, folds=GENERATED, n=_MAPS * len(LENGTHS)))
    return pd.concat(tables, ignore_index=True)


def drawn(
    model: Annotated[PreTrainedModel, load_encoder],
    card: Card,
    examples: Examples,
    network: Annotated[MapNetwork, load_network],
    thresholds: pd.DataFrame,
    task: str,
) -> pd.DataFrame:
    """For each class, of one example, the most typical map among those that the rules put into this class (Figure 1).

    One example for all classes, as in the paper: that with the most classes, then the most typical maps.

    Args:
        model, card: fine-tuned on the task; card of the model that it was trained from.
        examples, task: of the task; its name.
        network, thresholds: of `patterns`.

    Returns:
        class, probability (of the network), rule_class (of this map by the rules), task, example, layer, head, query, key (from
        1), query_token, weight.
    """
    classifiers = classifiers_of(network, thresholds)
    shown = candidates(examples)
    maps = attention_maps(model, shown, card.pad or 0)
    frames: list[pd.DataFrame] = []
    best = (0, 0.0)
    for example in shown:
        flat = torch.from_numpy(maps[example.record].astype(np.float32)).flatten(0, 1)
        special, segment = special_tokens(example), torch.tensor(example.segment_ids)
        probabilities = classify(classifiers.network, as_pictures(flat, special, classifiers.size, classifiers.scale))
        classes = rule_labels(map_numbers(flat, special, segment).numpy(), classifiers.thresholds)
        typical = probabilities.astype(np.float64)
        typical[:, CLASSES.index(BLOCK)] = far_block(flat, special, segment).numpy()
        # Class -> its most typical map.
        chosen = {int(k): int(np.where(classes == k, typical[:, k], -np.inf).argmax()) for k in np.unique(classes)}
        coverage = len(chosen), float(sum(typical[number, k] for k, number in chosen.items()))
        if frames and coverage <= best:
            continue
        best, frames = coverage, []
        for k, number in chosen.items():
            layer, head = divmod(number, card.heads)
            facts = {"class": CLASSES[k], "probability": float(probabilities[number, k]), "rule_class": CLASSES[k]}
            facts |= {"task": task, "example": example.id, "layer": layer + 1, "head": head + 1}
            frames.append(map_rows(example.tokens, maps[example.record][layer, head]).assign(**facts))
    order = ["class", "probability", "rule_class", "task", "example", "layer", "head", "query", "key", "query_token", "weight"]
    return pd.concat(frames, ignore_index=True)[order]


def far_block(maps: torch.Tensor, special: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
    """[map] how block-like maps [map, n, n] are away from the diagonal: a band along it also lies within segments.

    Of the mass between tokens farther apart than `_LOCAL`, the share within a segment, minus that of uniform rows; weighted by
    the share of the mass between all tokens that lies at such distances.
    """
    inner = ~special
    place = torch.arange(len(special))
    pairs = (inner[:, None] & inner[None, :]).to(maps.dtype)
    far = pairs * ((place[:, None] - place[None, :]).abs() > _LOCAL)
    same = far * (segment[:, None] == segment[None, :])
    between, mass = (maps * pairs).sum((-2, -1)).clamp(min=1e-9), (maps * far).sum((-2, -1)).clamp(min=1e-9)
    beyond = (maps * same).sum((-2, -1)) / mass - same.sum() / far.sum().clamp(min=1)
    return beyond * mass / between


def candidates(examples: Sequence[Example]) -> list[Example]:
    """Short examples that the maps of Figure 1 are chosen from; the shortest where none is short.

    Raises:
        AtlasError: there is no example.
    """
    if not examples:
        raise AtlasError("there is no example to draw: every record was dropped (see dropped.tsv), or `limit` is too small.")
    for longest in _LONGEST:
        short = [e for e in examples if len(e.input_ids) <= longest]
        if len(short) >= _FEWEST:
            break
    short = short or sorted(examples, key=lambda e: len(e.input_ids))[:1]
    # Examples are in the seeded order of their corpus: a longer list begins with the same ones.
    return short[:_CANDIDATES]
