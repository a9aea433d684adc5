"""Classes of attention maps, by rules and by a small convolutional network (Kovaleva et al. 2019, section 4.1, Figure 1).

Maps of one head are alike in all texts: cross-validation over layers tells how well a classifier works on another model.
Labelled maps are of short texts and one model: they are augmented by other places, lengths, strengths.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import StratifiedGroupKFold
from torch import nn
from transformers import PreTrainedModel

from attention_atlas.corpora.alignment import SPECIAL, WordPieces
from attention_atlas.corpora.examples import Example, ExampleBuilder, Examples
from attention_atlas.corpora.glue import Labelled, labelled_example
from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import RESOURCES, read_lines
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_tables import map_rows
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.loading import load_encoder
from attention_atlas.stats.intervals import percentile_interval, resampled_counts
from attention_atlas.studies.kovaleva2019 import ANNOTATORS, CHANNELS, CLASSES

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.intp]
TEXTS, LABELS = (str(RESOURCES / "kovaleva2019" / name) for name in ("annotated_texts.jsonl", "annotated_maps.csv"))
_GRID = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)  # thresholds that are tried for each of three kinds of maps
SIZE, VIEWS = 16, 4
"""Rows and columns of the pictures that the network sees, and the number of views in each, see `as_pictures`."""
_BATCH, _RATE, _DECAY = 32, 5e-3, 1e-2
_AUGMENTED_SETS = 8
"""Largest number of sets of augmented maps that the network is trained on in turn."""
SHORTEST, LONGEST = 12, 256
"""Range of the number of tokens of an augmented map."""
OFFSETS = (-1, 0, 1)
"""Offsets from the query of the keys that form a diagonal."""
FAINTEST_BAND = 0.06
"""Smallest share of attention in the band of a diagonal: where labels separate vertical maps from vertical and diagonal ones
(0.053 to 0.066, however strong the stripes are)."""
_STRONGEST_BAND = 2  # largest ratio of band to stripes in a vertical and diagonal map
COLUMNS = "annotator folds class n f1 ci_low ci_high kappa".split()
_SHORT, _CANDIDATES, _FEWEST = 22, 24, 8
"""Figure 1 is of one of at most `_CANDIDATES` examples of up to `_SHORT` tokens, or of the `_FEWEST` shortest."""


class Thresholds(NamedTuple):
    """Smallest values at which a map counts as vertical, diagonal or block."""

    vertical: float
    diagonal: float
    block: float


def map_numbers(maps: torch.Tensor, special: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
    """[..., 3]: how vertical, diagonal and block-like maps [..., n, n] are, of special tokens and segments [n].

    vertical: mass on special tokens. Of the mass between other tokens, minus that of uniform rows: diagonal: the share on the
    token itself and its neighbours (0 for a band below `FAINTEST_BAND`), block: the share within the segment.
    """
    inner = ~special
    place = torch.arange(len(special), device=maps.device)
    pairs = (inner[:, None] & inner[None, :]).to(maps.dtype)
    near = ((place[:, None] - place[None, :]).abs() <= 1) * pairs
    same = (segment[:, None] == segment[None, :]) * pairs
    between = maps * pairs
    total, count = between.sum((-2, -1)).clamp(min=1e-9), pairs.sum().clamp(min=1)
    diagonal, block = ((between * cells).sum((-2, -1)) / total - cells.sum() / count for cells in (near, same))
    faint = diagonal * total < FAINTEST_BAND * inner.sum()
    return torch.stack([maps[..., special].sum(-1).mean(-1), diagonal.masked_fill(faint, 0), block], dim=-1)


def rule_labels(numbers: npt.NDArray[np.floating], thresholds: Thresholds) -> Labels:
    """[map] class of each map, its place in `CLASSES`, from the numbers [map, 3] of `map_numbers`."""
    vertical, diagonal, block = (numbers >= np.asarray(thresholds, numbers.dtype)).T
    conditions = [vertical & diagonal, diagonal, block, vertical]
    names = ["vertical_diagonal", "diagonal", "block", "vertical"]
    return np.select(conditions, [CLASSES.index(name) for name in names], CLASSES.index("heterogeneous")).astype(np.intp)


def tuned_thresholds(numbers: npt.NDArray[np.floating], labels: Sequence[int]) -> Thresholds:
    """The thresholds of a grid with the largest macro-F1 on labelled maps; the first one if several tie."""
    grid = [Thresholds(*values) for values in product(_GRID, repeat=3)]
    truth = np.asarray(labels)
    present = sorted(set(truth.tolist()))
    counts = np.ones(len(truth))
    scores = [f1_by_class(truth, rule_labels(numbers, thresholds), counts)[present].mean() for thresholds in grid]
    return grid[int(np.argmax(scores))]


def f1_by_class(truth: Labels, predicted: Labels, counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[class] F1 of maps that count so often; 0 for a class that neither has. scikit-learn's takes 20 times as long."""
    right = truth == predicted
    both = np.bincount(truth[right], counts[right], len(CLASSES))
    sizes = np.bincount(truth, counts, len(CLASSES)) + np.bincount(predicted, counts, len(CLASSES))
    return np.asarray(2 * both / np.maximum(sizes, 1))


class MapNetwork(nn.Module):
    """Eight 3 x 3 convolutions, of which the paper states only the number and ReLU, the mean over places, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for place, (inputs, outputs) in enumerate(zip((VIEWS, *CHANNELS[:-1]), CHANNELS, strict=True)):
            convolution = nn.Conv2d(inputs, outputs, 3, stride=1 + place % 2, padding=1)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers)
        self.output = nn.Linear(CHANNELS[-1], len(CLASSES))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Scores [map, class] of pictures [map, view, size, size]."""
        return self.output(self.convolutions(pictures).mean((-2, -1)))


def as_pictures(maps: torch.Tensor, special: torch.Tensor, size: int = SIZE) -> torch.Tensor:
    """[map, view, size, size] square roots of maps [map, n, n] without padding, resized, and the places of special tokens [n].

    The views: the mean attention of a query of each area to all its keys, as dark in a long map as in a short one; the largest
    weight of the area; columns and rows of special tokens.
    """
    weights = maps.float()[:, None]
    keys = weights.shape[-1] / size
    means, largest = nn.functional.adaptive_avg_pool2d(weights, size), nn.functional.adaptive_max_pool2d(weights, size)
    resized = torch.cat([means * keys, largest], 1).sqrt()
    marked = nn.functional.adaptive_max_pool1d(special.to(resized)[None], size)
    columns = marked.expand(size, size)
    marks = torch.stack([columns, columns.T]).expand(len(maps), 2, size, size)
    return torch.cat([resized, marks], 1)


def train_network(pictures: Sequence[torch.Tensor], labels: Sequence[int], epochs: int, seed: int) -> MapNetwork:
    """Train on sets of pictures of the same maps, each [map, view, size, size], one set an epoch; classes weigh equally."""
    torch.manual_seed(seed)
    network = MapNetwork().to(pictures[0].device)
    targets = torch.tensor(labels, device=pictures[0].device)
    counts = torch.bincount(targets, minlength=len(CLASSES)).float()
    weights = torch.where(counts > 0, counts.sum() / counts.clamp(min=1), 0.0)
    loss = nn.CrossEntropyLoss(weights)
    optimiser = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY, fused=True)
    steps = epochs * -(-len(targets) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=steps)
    network.train()
    for epoch in range(epochs):
        shown = pictures[epoch % len(pictures)]
        # BatchNorm needs at least two maps: all batches have nearly the same size.
        for indices in torch.randperm(len(targets)).tensor_split(-(-len(targets) // _BATCH)):
            batch = indices.to(shown.device)
            optimiser.zero_grad()
            loss(network(shown[batch].contiguous(memory_format=torch.channels_last)), targets[batch]).backward()
            optimiser.step()
            schedule.step()
    return network.eval()


@torch.inference_mode()
def classify(network: MapNetwork, pictures: torch.Tensor) -> npt.NDArray[np.float32]:
    """[map, class] probabilities."""
    return torch.cat([network(batch).softmax(dim=1).cpu() for batch in pictures.split(256)]).numpy()


def load_network(path: str) -> MapNetwork:
    network = MapNetwork()
    try:
        network.load_state_dict(load_file(path))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise DamagedFile(path, f"not the network of maps ({type(error).__name__})") from error
    return network.eval()


def special_tokens(example: Example) -> torch.Tensor:
    """[n]"""
    return torch.tensor([word == SPECIAL for word in example.word])


def annotated(maps: torch.Tensor, example: Example, network: MapNetwork, thresholds: Thresholds) -> tuple[Floats, Labels]:
    """[map, class] probabilities of the network, and [map] class by the rules, of maps [map, n, n] of an example."""
    special = special_tokens(example).to(maps.device)
    numbers = map_numbers(maps, special, torch.tensor(example.segment_ids, device=maps.device))
    return classify(network, as_pictures(maps, special).cpu()), rule_labels(numbers.cpu().numpy(), thresholds)


class MapParts(NamedTuple):
    """The parts that sum to a map."""

    band: Floats  # [n, 3] attention to the tokens at `OFFSETS` above the average to others, 0 from and to special tokens
    stripes: Floats  # [n, n] to special tokens
    rest: Floats  # [n, n] all other attention


def augmented(weights: Floats, special: Bools, kind: str, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """A map [m, m] of the same class, from a labelled map [n, n], and which of its tokens are special: special tokens move, the
    pattern gets another strength, and the length is drawn from `SHORTEST` to `LONGEST` on a logarithmic scale.
    """
    length = round(float(np.exp(generator.uniform(np.log(SHORTEST), np.log(LONGEST)))))
    weights, special = special_moved(weights, special, generator)
    if generator.integers(2):
        weights, special = weights[::-1, ::-1], special[::-1]
    parts = varied(parts_of(weights, special), kind, generator)
    return resized(parts, special, max(length, 2 * int(special.sum())), generator)


def special_moved(weights: Floats, special: Bools, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The same tokens with the special tokens at random places; the order of the others stays."""
    n = len(special)
    there = np.isin(np.arange(n), generator.choice(n, int(special.sum()), replace=False))
    order = np.empty(n, dtype=np.intp)
    order[there] = generator.permutation(np.flatnonzero(special))
    order[~there] = np.flatnonzero(~special)
    return weights[np.ix_(order, order)], there


def parts_of(weights: Floats, special: Bools) -> MapParts:
    n = len(special)
    place = np.arange(n)
    inner = ~special[:, None] & ~special[None, :]
    far = inner & (np.abs(place[:, None] - place[None, :]) > 1)
    background = (weights * far).sum(axis=1) / np.maximum(far.sum(axis=1), 1)
    band = np.zeros((n, len(OFFSETS)), np.float32)
    rest = np.where(special, np.float32(0), weights)
    for k, offset in enumerate(OFFSETS):
        rows, columns = np.nonzero(np.eye(n, k=offset, dtype=bool))
        near = np.where(inner[rows, columns], np.maximum(weights[rows, columns] - background[rows], 0), 0)
        band[rows, k] = near
        rest[rows, columns] -= near
    return MapParts(band, np.where(special, weights, np.float32(0)), rest)


def varied(parts: MapParts, kind: str, generator: np.random.Generator) -> MapParts:
    """The parts of a map of the same class: its defining pattern only gets stronger; bands become narrower (sharp ones are rare
    among the labelled maps) and get other offsets; a block or heterogeneous map can lose its stripes.
    """
    band, stripes, rest = parts.band, parts.stripes, parts.rest
    factor = np.float32(generator.uniform())
    if kind in ("block", "heterogeneous"):
        stripes = stripes * factor
    elif kind == "vertical":
        band, rest = band * factor, rest * factor
    elif kind == "diagonal":
        stripes, rest = stripes * factor**2, rest * factor
    elif kind == "vertical_diagonal":
        rest = rest * factor
        ratio = stripes.sum() / max(float(band.sum()), 1e-6)
        band = band * np.float32(1 + generator.uniform() * max(_STRONGEST_BAND * float(ratio) - 1, 0))
    if kind in ("diagonal", "vertical_diagonal"):
        narrow = np.float32(np.sqrt(generator.uniform()))
        strongest = np.eye(len(OFFSETS), dtype=np.float32)[band.sum(axis=0).argmax()]
        band = (1 - narrow) * band + narrow * band.sum(axis=1, keepdims=True) * strongest
    return MapParts(band[:, generator.permutation(len(OFFSETS))], stripes, rest)


def resized(parts: MapParts, special: Bools, length: int, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The map at another length: tokens are left out at random, or stand for several neighbours, which share the rest of the
    attention to it. Special tokens stay single, and a band keeps its width.
    """
    inner = np.flatnonzero(~special)
    count = max(1, length - int(special.sum()))
    if count <= len(inner):
        chosen = np.sort(generator.choice(inner, count, replace=False))
    else:
        chosen = inner[np.arange(count) * len(inner) // count]
    source = np.sort(np.concatenate([np.flatnonzero(special), chosen]))
    there = special[source]
    copies = np.bincount(source, minlength=len(special)).astype(np.float32)
    weights = (parts.rest / copies.clip(1) + parts.stripes)[np.ix_(source, source)]
    for k, offset in enumerate(OFFSETS):
        rows, columns = np.nonzero(np.eye(len(source), k=offset, dtype=bool))
        kept = ~there[rows] & ~there[columns]
        weights[rows[kept], columns[kept]] += parts.band[source[rows[kept]], k]
    total = weights.sum(axis=1, keepdims=True)
    return (weights / np.where(total > 0, total, 1)).astype(np.float32), there


def patterns(
    model: Annotated[PreTrainedModel, load_encoder],
    card: Card,
    tokenizer: Annotated[WordPieces, WordPieces],
    tuned: Annotated[PreTrainedModel, load_encoder],
    tuned_card: Card,
    examples: Examples,
    task: str,
    settings: Mapping[str, Any],
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Train the network (name -> weights) and tune the thresholds of the rules on labelled maps of `model`; measure how well
    both agree with the labels (`COLUMNS`; folds: the held-out unit, text or layer; held_out: class of each map on layers that
    the annotator was not tuned on); and draw maps of a `tuned` model (`drawn`).
    """
    labelled, maps, table = labelled_maps(model, card, tokenizer)
    labels, epochs = table["label"].to_numpy(np.intp), settings["epochs"]
    specials = [special_tokens(example) for example in labelled]
    segments = [torch.tensor(example.segment_ids) for example in labelled]
    each = zip(map(torch.from_numpy, maps), specials, segments, strict=True)
    numbers = np.stack([map_numbers(*one).numpy() for one in each])
    pictures = training_pictures(maps, [special.numpy() for special in specials], labels, epochs, seed)
    tables = []
    for kind in ("text", "layer"):
        predicted = {name: np.zeros_like(labels) for name in ANNOTATORS}
        folds = StratifiedGroupKFold(settings["folds"], shuffle=True, random_state=seed)
        for train, test in folds.split(labels, labels, table[kind]):
            network = train_network([shown[train] for shown in pictures], labels[train].tolist(), epochs, seed)
            predicted["network"][test] = classify(network, pictures[-1][test]).argmax(axis=1)
            predicted["rules"][test] = rule_labels(numbers[test], tuned_thresholds(numbers[train], labels[train].tolist()))
        tables.append(agreement(labels, table[kind].to_numpy(), predicted, resamples, seed).assign(folds=kind))
    named = {name: [CLASSES[k] for k in classes] for name, classes in ({"label": labels} | predicted).items()}
    network, thresholds = train_network(pictures, labels.tolist(), epochs, seed), tuned_thresholds(numbers, labels.tolist())
    return {
        "network": {name: tensor.contiguous().numpy() for name, tensor in network.state_dict().items()},
        "thresholds": pd.DataFrame([thresholds]),
        "table": pd.concat(tables, ignore_index=True)[COLUMNS],
        "held_out": table[["text", "layer", "head"]].assign(**named),
        "drawn": drawn(tuned, tuned_card, examples, network, thresholds, task),
    }


def read_labels(path: str = LABELS) -> pd.DataFrame:
    """Labels: text, layer, head (from 1), label (its place in `CLASSES`); errors name the line."""
    table = read_table(path, ["text", "layer", "head", "label"], ",").astype({"text": str})
    wrong = table[~table["label"].isin(CLASSES) | table.duplicated(["text", "layer", "head"])]
    if len(wrong):
        raise AtlasError(
            f"{path}:{wrong.index[0] + 2}: a map of {wrong['text'].iloc[0]} that is labelled twice, or a class other than "
            f"{', '.join(CLASSES)}: {wrong['label'].iloc[0]}."
        )
    return table.assign(label=table["label"].map(CLASSES.index))


def labelled_maps(
    model: PreTrainedModel, card: ModelCard, tokenizer: WordPieces, texts: str = TEXTS, labels: str = LABELS
) -> tuple[list[Example], list[Floats], pd.DataFrame]:
    """Of each labelled map the example, the weights [n, n] by the model whose maps were labelled, and its row of labels."""
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
        return torch.cat([as_pictures(torch.from_numpy(one)[None], torch.from_numpy(special)) for one, special in shown])

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
    """F1 of each class, their macro mean, and Cohen's kappa with the labels, of annotator -> [map] classes; the bootstrap draws
    units, the text or layer of each map.
    """
    groups = np.unique(units, return_inverse=True)[1]
    present, sizes = np.unique(labels, return_counts=True)
    counts = np.concatenate(list(resampled_counts(int(groups.max()) + 1, resamples, seed)))
    frames = []
    for name, classes in predicted.items():
        f1 = f1_by_class(labels, classes, np.ones(len(labels)))[present]
        macros = [f1_by_class(labels, classes, row[groups])[present].mean() for row in counts]
        low, high = map(float, percentile_interval(np.asarray(macros)))
        by_class = pd.DataFrame({"class": [CLASSES[kind] for kind in present], "n": sizes, "f1": f1})
        macro = {"class": "macro", "n": len(labels), "f1": f1.mean(), "ci_low": low, "ci_high": high}
        macro |= {"kappa": cohen_kappa_score(classes, labels)}
        frames.append(pd.concat([by_class, pd.DataFrame([macro])]).assign(annotator=name))
    return pd.concat(frames, ignore_index=True)


def drawn(
    model: PreTrainedModel, card: ModelCard, examples: Sequence[Example], network: MapNetwork, thresholds: Thresholds, task: str
) -> pd.DataFrame:
    """For each class, of one example, the most typical map of a fine-tuned model among those that the rules put into this class
    (Figure 1); of the example with the most classes, then the most typical maps.
    """
    if not examples:
        raise AtlasError("there is no example to draw: every record was dropped (see dropped.tsv), or `limit` is too small.")
    shown = [example for example in examples if len(example.input_ids) <= _SHORT][:_CANDIDATES]
    if len(shown) < _FEWEST:
        shown = sorted(examples, key=lambda example: len(example.input_ids))[:_FEWEST]
    maps = attention_maps(model, shown, card.pad or 0)
    drawings = []
    for example in shown:
        flat = torch.from_numpy(maps[example.record].astype(np.float32)).flatten(0, 1)
        probabilities, classes = annotated(flat, example, network, thresholds)
        typical = probabilities.astype(np.float64)
        typical[:, CLASSES.index("block")] = far_block(flat, special_tokens(example), torch.tensor(example.segment_ids)).numpy()
        # Class -> its most typical map.
        chosen = {int(k): int(np.where(classes == k, typical[:, k], -np.inf).argmax()) for k in np.unique(classes)}
        coverage = len(chosen), float(sum(typical[number, k] for k, number in chosen.items()))
        drawings.append((coverage, example, chosen, probabilities))
    _, example, chosen, probabilities = max(drawings, key=itemgetter(0))
    frames = []
    for k, number in chosen.items():
        layer, head = divmod(number, card.heads)
        facts = {"class": CLASSES[k], "probability": float(probabilities[number, k])}
        facts |= {"task": task, "example": example.id, "layer": layer + 1, "head": head + 1}
        frames.append(map_rows(example.tokens, maps[example.record][layer, head]).assign(**facts))
    order = "class probability task example layer head query key query_token weight".split()
    return pd.concat(frames, ignore_index=True)[order]


def far_block(maps: torch.Tensor, special: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
    """[map] mean weight within segments minus that across them, of tokens more than three apart: a band is no block."""
    place = torch.arange(len(special))
    far = ~special[:, None] & ~special & ((place[:, None] - place).abs() > 3)
    within, across = (far & (segment[:, None] == segment)).float(), (far & (segment[:, None] != segment)).float()
    means = [(maps * cells).sum((-2, -1)) / cells.sum().clamp(min=1) for cells in (within, across)]
    return means[0] - means[1]
