"""Classifiers of maps, trained on labels, cross-validated over texts, heads and layers (Kovaleva et al. 2019, section 4.1).

Texts and labels come with the workflow. Maps of one head are alike in all texts, so folds of texts show how well a classifier
knows the heads that it was trained on. Folds of heads and of layers are a better test of how well it works on another model.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedGroupKFold
from transformers import PreTrainedModel

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Example, ExampleBuilder, Examples
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
    Bools,
    Floats,
    Labels,
    MapNetwork,
    as_pictures,
    augmented,
    classify,
    f1_by_class,
    load_network,
    map_numbers,
    rule_labels,
    special_tokens,
    thresholds_of,
    train_network,
    tuned_thresholds,
)
from attention_atlas.studies.kovaleva2019.names import CLASSES

_log = logging.getLogger(__name__)
TEXTS, LABELS = (str(RESOURCES / "kovaleva2019" / name) for name in ("annotated_texts.jsonl", "annotated_maps.csv"))
_AUGMENTED_SETS = 8
"""Largest number of sets of augmented maps that the network is trained on in turn."""
COLUMNS = "annotator folds class n precision recall f1 ci_low ci_high kappa with".split()
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
    """Train the network (name -> weights) and tune the thresholds of the rules, and measure how well both agree with the labels
    of `model`'s maps and with each other: `COLUMNS`; folds: the held-out unit (text, head, layer); with: the other annotator of
    the kappa.
    """
    examples, maps, table = labelled_maps(model, card, tokenizer)
    labels, epochs = table["label"].to_numpy(np.intp), settings["epochs"]
    numbers = np.stack(
        [
            map_numbers(torch.from_numpy(weights), special_tokens(example), torch.tensor(example.segment_ids)).numpy()
            for weights, example in zip(maps, examples, strict=True)
        ]
    )
    pictures = training_pictures(maps, [special_tokens(example).numpy() for example in examples], labels, epochs, seed)
    heads = table["layer"].astype(str) + "-" + table["head"].astype(str)
    tables = []
    for kind, units in (("text", table["text"]), ("head", heads), ("layer", table["layer"])):
        predicted = {name: np.zeros_like(labels) for name in ("network", "rules")}
        folds = StratifiedGroupKFold(settings["folds"], shuffle=True, random_state=seed)
        for number, (train, test) in enumerate(folds.split(labels, labels, units), start=1):
            network = train_network([shown[train] for shown in pictures], labels[train].tolist(), epochs, seed)
            predicted["network"][test] = classify(network, pictures[-1][test]).argmax(axis=1)
            predicted["rules"][test] = rule_labels(numbers[test], tuned_thresholds(numbers[train], labels[train].tolist()))
            _log.info("folds by %s: %d of %d", kind, number, settings["folds"])
        tables.append(agreement(labels, units.to_numpy(), predicted, resamples, seed).assign(folds=kind))
    network = train_network(pictures, labels.tolist(), epochs, seed)
    return {
        "network": {name: tensor.contiguous().numpy() for name, tensor in network.state_dict().items()},
        "thresholds": pd.DataFrame([tuned_thresholds(numbers, labels.tolist())]),
        "table": pd.concat(tables, ignore_index=True)[COLUMNS],
    }


def read_labels(path: str = LABELS) -> pd.DataFrame:
    """Labels: text, layer, head (from 1), label (its place in `CLASSES`).

    Raises:
        AtlasError: a missing column, an unknown class, or a map that is labelled twice; with the line.
    """
    table = read_table(path, ["text", "layer", "head", "label"], ",").astype({"text": str})
    unknown, repeated = ~table["label"].isin(CLASSES), table.duplicated(["text", "layer", "head"])
    for line, row in table[unknown | repeated].iterrows():
        place = f"{path}:{line + 2}"
        if row["label"] not in CLASSES:
            raise AtlasError(f"{place}: there is no class {row['label']!r}; the classes are {', '.join(CLASSES)}.")
        raise AtlasError(f"{place}: map {row['layer']}-{row['head']} of text {row['text']} is labelled twice.")
    return table.assign(label=table["label"].map(CLASSES.index))


def labelled_maps(
    model: PreTrainedModel, card: ModelCard, tokenizer: WordPieces, texts: str = TEXTS, labels: str = LABELS
) -> tuple[list[Example], list[Floats], pd.DataFrame]:
    """The labelled maps: of each the example, the weights [n, n] by the model whose maps were labelled, and its row of labels.

    Raises:
        AtlasError: a text cannot be labelled, or a label names an unknown text, layer or head.
    """
    examples: dict[str, Example] = {}
    builder = ExampleBuilder({"overlong": "drop"}, texts, tokenizer, card.max_tokens)
    for number, (line, text) in enumerate(read_lines(texts)):
        entry = json.loads(text)
        example = labelled_example(builder, Labelled(entry["id"], tuple(entry["texts"]), ""))
        if not isinstance(example, Example):
            raise AtlasError(f"{texts}:{line}: this text cannot be labelled: {example.reason}, {example.detail}.")
        examples[example.id] = replace(example, record=number)
    table = read_labels(labels)
    for row in table.itertuples():
        if row.text not in examples or not (1 <= row.layer <= card.layers and 1 <= row.head <= card.heads):
            raise AtlasError(
                f"{labels}: there is no map {row.layer}-{row.head} of text {row.text} in {card.name} "
                f"({card.layers} layers of {card.heads} heads): label maps of this model, or set patterns.model."
            )
    maps = attention_maps(model, list(examples.values()), card.pad or 0)
    labelled = [examples[text] for text in table["text"]]
    places = zip(labelled, table["layer"] - 1, table["head"] - 1, strict=True)
    return labelled, [maps[example.record][layer, head].astype(np.float32) for example, layer, head in places], table


def training_pictures(
    maps: Sequence[Floats], specials: Sequence[Bools], labels: Labels, epochs: int, seed: int
) -> list[torch.Tensor]:
    """Sets of pictures of the labelled maps to train on, one for each epoch, alternately augmented and original; the last set
    is that of the maps themselves.
    """
    generator = np.random.default_rng(seed)

    def pictures(shown: Iterable[tuple[Floats, Bools]]) -> torch.Tensor:
        return torch.cat(
            [as_pictures(torch.from_numpy(weights)[None], torch.from_numpy(special)) for weights, special in shown]
        )

    originals = list(zip(maps, specials, strict=True))
    themselves, kinds = pictures(originals), [CLASSES[label] for label in labels]
    sets = []
    for _ in range(min(-(-epochs // 4), _AUGMENTED_SETS)):
        drawn = (augmented(*one, kind, generator) for one, kind in zip(originals, kinds, strict=True))
        sets += [pictures(drawn), themselves]
    return sets


def agreement(
    labels: Labels, units: npt.NDArray[Any], predicted: Mapping[str, Labels], resamples: int, seed: int
) -> pd.DataFrame:
    """Precision, recall and F1 of each class and their macro mean, and Cohen's kappa, of annotator -> [map] classes; the
    bootstrap draws units, the text, head or layer of each map.
    """
    groups = np.unique(units, return_inverse=True)[1]
    present = sorted(set(labels.tolist()))
    counts = np.concatenate(list(resampled_counts(int(groups.max()) + 1, resamples, seed)))
    rows: list[dict[str, Any]] = []
    for name, classes in predicted.items():
        precision, recall, f1, n = precision_recall_fscore_support(labels, classes, labels=present, zero_division=0.0)
        by_class = {"class": [CLASSES[kind] for kind in present], "n": n, "precision": precision, "recall": recall, "f1": f1}
        rows += pd.DataFrame(by_class).assign(annotator=name).to_dict("records")
        macros = [f1_by_class(labels, classes, row[groups])[present].mean() for row in counts]
        low, high = percentile_interval(np.asarray(macros))
        macro = {"class": "macro", "n": len(labels), "f1": float(np.mean(f1)), "ci_low": float(low), "ci_high": float(high)}
        rows.append({"annotator": name, **macro})
    by_name = {**predicted, "hand": labels}
    for first, second in (("network", "hand"), ("rules", "hand"), ("network", "rules")):
        kappa = float(cohen_kappa_score(by_name[first], by_name[second]))
        rows.append({"annotator": first, "class": "all", "n": len(labels), "kappa": kappa, "with": second})
    return pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "folds"])


def drawn(
    model: Annotated[PreTrainedModel, load_encoder],
    card: Card,
    examples: Examples,
    network: Annotated[MapNetwork, load_network],
    thresholds: pd.DataFrame,
    task: str,
) -> pd.DataFrame:
    """For each class, of one example, the most typical map of a fine-tuned model among those that the rules put into this class
    (Figure 1): class, probability (of the network), task, example, layer, head, query, key (from 1), query_token, weight.

    One example for all classes, as in the paper: that with the most classes, then the most typical maps.
    """
    shown = candidates(examples)
    maps = attention_maps(model, shown, card.pad or 0)
    frames: list[pd.DataFrame] = []
    best = (0, 0.0)
    for example in shown:
        flat = torch.from_numpy(maps[example.record].astype(np.float32)).flatten(0, 1)
        special, segment = special_tokens(example), torch.tensor(example.segment_ids)
        probabilities = classify(network, as_pictures(flat, special))
        classes = rule_labels(map_numbers(flat, special, segment).numpy(), thresholds_of(thresholds))
        typical = probabilities.astype(np.float64)
        typical[:, CLASSES.index("block")] = far_block(flat, special, segment).numpy()
        # Class -> its most typical map.
        chosen = {int(k): int(np.where(classes == k, typical[:, k], -np.inf).argmax()) for k in np.unique(classes)}
        coverage = len(chosen), float(sum(typical[number, k] for k, number in chosen.items()))
        if frames and coverage <= best:
            continue
        best, frames = coverage, []
        for k, number in chosen.items():
            layer, head = divmod(number, card.heads)
            facts = {"class": CLASSES[k], "probability": float(probabilities[number, k])}
            facts |= {"task": task, "example": example.id, "layer": layer + 1, "head": head + 1}
            frames.append(map_rows(example.tokens, maps[example.record][layer, head]).assign(**facts))
    order = ["class", "probability", "task", "example", "layer", "head", "query", "key", "query_token", "weight"]
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
    """Short examples that the maps of Figure 1 are chosen from; the shortest where none is short."""
    if not examples:
        raise AtlasError("there is no example to draw: every record was dropped (see dropped.tsv), or `limit` is too small.")
    for longest in _LONGEST:
        short = [e for e in examples if len(e.input_ids) <= longest]
        if len(short) >= _FEWEST:
            break
    short = short or sorted(examples, key=lambda e: len(e.input_ids))[:1]
    # Examples are in the seeded order of their corpus: a longer list begins with the same ones.
    return short[:_CANDIDATES]
